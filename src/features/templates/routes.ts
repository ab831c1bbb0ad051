// Routes for templates.

import { requireOpenName, withEtag } from '../../protocol/rest/handling.ts';
import { refusalReply } from '../../protocol/rest/problems.ts';
import { operationFor, type Route, routesOf } from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { viewOf } from '../../support/value.ts';
import type { TemplateInfo } from './api.ts';
import { type TemplateMessage, templateOperations } from './messages.ts';

export const templateRoutes: readonly Route[] = routesOf(templateOperations, {
  async putTemplate({ holdfast }, { params, body, caller }) {
    requireOpenName('A pipeline', body.pipeline);
    const where = { ...params, ...operationFor(caller) };
    return { status: 200, body: await holdfast.templates.put({ ...body, ...where }) };
  },

  async readTemplate({ holdfast }, { params, query, caller, header }) {
    const { id } = params;
    const found = await holdfast.templates.get(id, { ...query, project: caller.project });
    if (found === undefined) throw refusalReply({ why: 'template-unknown', id, ...query });
    return withEtag(templateMessage(found), header('if-none-match'));
  },

  async listTemplates({ holdfast }, { query, caller, header }) {
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
