// The client's methods for templates.

import { type Calls, callOperation, type PageQuery, withTags } from '../../client/calls.ts';
import type { TemplateBody } from './messages.ts';

/** Operations of `client.templates`. */
export function templatesClient(client: Calls) {
  return {
    /** Stores a version of a template. The same again is safe. */
    put(id: string, version: number, body: TemplateBody) {
      const sent = withTags(`The defaults of "${id}"`, body, 'defaults');
      return callOperation(client, 'PUT /v1/templates/:id/versions/:version', {
        ...sent,
        id,
        version,
      });
    },
    /** Returns a version of a template, by default the newest. */
    read: (id: string, version?: number) =>
      callOperation(client, 'GET /v1/templates/:id', { id, version }),
    /** Returns a page of templates by id. */
    list: (page: PageQuery & { readonly id?: string } = {}) =>
      callOperation(client, 'GET /v1/templates', page),
  };
}
