// Templates: what to submit, kept under an id and a version that never changes.

import { requireOpenName, withEtag } from '../../protocol/rest/handling.ts';
import { refused } from '../../protocol/rest/problems.ts';
import { actingFor, type Route, route } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { viewOf } from '../../support/value.ts';
import type { TemplateInfo } from './api.ts';
import {
  type TemplateMessage,
  template,
  templateBody,
  templateListQuery,
  templatePage,
  templateParams,
  templatePut,
  templateQuery,
  templateVersionParams,
} from './messages.ts';

const READERS = ['submit', 'operate'] as const;

const put = route({
  method: 'PUT',
  path: '/v1/templates/:id/versions/:version',
  name: 'putTemplate',
  summary: 'Writes a version, once; the same again is fine.',
  allows: ['operate'],
  // It decides what is submitted.
  needs: ['submit'],
  params: templateVersionParams,
  body: templateBody,
  takesValues: true,
  answers: {
    200: { what: 'It is there.', schema: templatePut },
    409: { what: 'This version has other content.' },
  },
  async handle({ holdfast }, { params, body, caller }) {
    requireOpenName('A pipeline', body.pipeline);
    const where = { ...params, ...actingFor(caller) };
    return { status: 200, body: await holdfast.templates.put({ ...body, ...where }) };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/templates/:id',
  name: 'readTemplate',
  summary: 'A version of a template, or its newest.',
  allows: READERS,
  params: templateParams,
  query: templateQuery,
  answers: { 200: { what: 'With its default parameters.', schema: template } },
  async handle({ holdfast }, { params, query, caller, header }) {
    const { id } = params;
    const found = await holdfast.templates.get(id, { ...query, project: caller.project });
    if (found === undefined) throw refused({ why: 'template-unknown', id, ...query });
    return withEtag(templateMessage(found), header('if-none-match'));
  },
});

const list = route({
  method: 'GET',
  path: '/v1/templates',
  name: 'listTemplates',
  summary: 'Templates by id; the newest version of each first.',
  allows: READERS,
  query: templateListQuery,
  answers: { 200: { what: 'A page.', schema: templatePage } },
  async handle({ holdfast }, { query, caller, header }) {
    const { project } = caller;
    const { items, cursor } = await holdfast.templates.list({ ...query, project });
    const body = { items: items.map(templateMessage), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },
});

function templateMessage(info: TemplateInfo): TemplateMessage {
  const { project: _, createdAt, tags, ...rest } = info;
  return {
    ...rest,
    defaults: viewOf(rest.defaults),
    createdAt: formatInstant(createdAt),
    ...(tags === undefined ? {} : { tags: [...tags] }),
  };
}

export const templateRoutes: readonly Route[] = [put, read, list];
