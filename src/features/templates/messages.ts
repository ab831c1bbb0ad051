// Templates: versioned submissions.

import { type Static, Type } from 'typebox';
import { CODEC_MISSING, operationsOf, READERS } from '../../protocol/messages/operation.ts';
import { concurrency, rate, tags } from '../../protocol/messages/submission.ts';
import {
  closed,
  documented,
  durationMs,
  flag,
  instant,
  integerWithin,
  json,
  lane,
  name,
  optional,
  pageOf,
  paging,
  pipelineName,
  tagged,
  text,
  titled,
} from '../../protocol/messages/words.ts';

export const version = integerWithin(1, 1_000_000_000, 'Version of the template, from 1.');

const templateId = documented(name, 'Id of the template.', 'invoice');

/** Queueing options of the executions that are submitted. */
export const PLACING = {
  lane: optional(lane),
  tags: optional(tags),
  deadlineMs: optional(
    durationMs,
    'Time from its submit after which an execution fails, in milliseconds. Default: no deadline.',
  ),
  concurrency: optional(concurrency),
  rate: optional(rate),
};

const defaults = json(
  'Default input: any JSON value. Properties of the submitted input replace its properties.',
);

const CONTENT_EXAMPLE = {
  pipeline: 'send-invoice',
  defaults: { currency: 'CHF', days: 30 },
  lane: 'batch',
  tags: ['billing'],
};

const templateBody = closed(
  {
    pipeline: documented(pipelineName, 'Pipeline to run.', 'send-invoice'),
    defaults: optional(defaults),
    tagged,
    ...PLACING,
  },
  titled('TemplateBody', CONTENT_EXAMPLE),
);

export type TemplateBody = Static<typeof templateBody>;

const template = closed(
  {
    id: text('Id of the template.'),
    version,
    pipeline: text('Pipeline to run.'),
    defaults: optional(defaults),
    createdAt: documented(instant, 'When this version was written.'),
    actor: optional(text('The actor that wrote this version.')),
    ...PLACING,
  },
  titled('Template', {
    ...{ id: 'invoice', version: 1, ...CONTENT_EXAMPLE },
    ...{ createdAt: '2026-11-17T09:30:00.000Z', actor: 'ann (a2b3c4d5e6f7a2b3)' },
  }),
);

export type TemplateMessage = Static<typeof template>;

export const templateOperations = operationsOf('Templates', {
  putTemplate: {
    at: 'PUT /v1/templates/:id/versions/:version',
    summary: 'Write a version of a template',
    description:
      'Writes one version and an audit record. A version never changes: repeating the same content writes nothing, and other content is refused.',
    allows: ['operate'],
    // A template decides what others submit.
    needs: ['submit'],
    params: closed({ id: templateId, version }),
    body: templateBody,
    takesValues: true,
    responses: {
      200: {
        what: 'The version is stored.',
        schema: closed({ existing: flag('True if it had this content already.') }),
      },
      409: {
        what: 'The version exists with other content. Nothing was written.',
        codes: ['template-conflict'],
      },
    },
  },
  readTemplate: {
    at: 'GET /v1/templates/:id',
    summary: 'Read a template',
    description:
      'Returns one version of a template, by default the newest, with its default input.',
    allows: READERS,
    params: closed({ id: templateId }),
    query: closed({ version: optional(version, 'Version to read. Default: the newest.', 1) }),
    responses: {
      200: { what: 'The template.', schema: template },
      404: { what: 'The project has no such template or version.', codes: ['template-unknown'] },
      ...CODEC_MISSING,
    },
  },
  listTemplates: {
    at: 'GET /v1/templates',
    summary: 'List templates',
    description: "Returns the project's templates by id, and the versions of each from new to old.",
    allows: READERS,
    query: closed({
      id: optional(name, 'Only versions of this template.', 'invoice'),
      ...paging(Type.String({ minLength: 1, maxLength: 512 })),
    }),
    responses: {
      200: { what: 'One page of versions.', schema: pageOf(template) },
      ...CODEC_MISSING,
    },
  },
});
