// Templates: stored submissions.

import { type Static, Type } from 'typebox';
import { concurrency, rate, tags } from '../../protocol/messages/execution.ts';
import { type Operations, READERS } from '../../protocol/messages/operation.ts';
import {
  closed,
  durationMs,
  instant,
  lane,
  name,
  pageOf,
  paging,
  tagged,
  value,
} from '../../protocol/messages/words.ts';

export const version = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });

/** Options that place a submission in the queue. */
export const PLACING = {
  lane: Type.Optional(lane),
  tags: Type.Optional(tags),
  deadlineMs: Type.Optional(durationMs),
  concurrency: Type.Optional(concurrency),
  rate: Type.Optional(rate),
};

const templateBody = closed({
  pipeline: name,
  defaults: Type.Optional(value),
  tagged,
  ...PLACING,
});

export type TemplateBody = Static<typeof templateBody>;

const template = closed({
  id: Type.String(),
  version,
  pipeline: Type.String(),
  defaults: Type.Optional(value),
  createdAt: instant,
  by: Type.Optional(Type.String()),
  ...PLACING,
});

export type TemplateMessage = Static<typeof template>;

export const templateOperations = {
  putTemplate: {
    at: 'PUT /v1/templates/:id/versions/:version',
    summary: 'Writes a version, once; the same again is fine.',
    allows: ['operate'],
    // The template decides what is submitted.
    needs: ['submit'],
    params: closed({ id: name, version }),
    body: templateBody,
    takesValues: true,
    answers: {
      200: {
        what: 'It is there.',
        schema: closed({ existing: Type.Boolean({ description: 'The same content was there.' }) }),
      },
      409: { what: 'This version has other content.' },
    },
  },
  readTemplate: {
    at: 'GET /v1/templates/:id',
    summary: 'A version of a template, or its newest.',
    allows: READERS,
    params: closed({ id: name }),
    query: closed({ version: Type.Optional(version) }),
    answers: { 200: { what: 'With its default parameters.', schema: template } },
  },
  listTemplates: {
    at: 'GET /v1/templates',
    summary: 'Templates by id; the newest version of each first.',
    allows: READERS,
    query: closed({
      id: Type.Optional(name),
      ...paging(Type.String({ minLength: 1, maxLength: 512 })),
    }),
    answers: { 200: { what: 'A page.', schema: pageOf(template) } },
  },
} as const satisfies Operations;
