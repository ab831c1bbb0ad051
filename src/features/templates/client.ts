// The client's methods for templates.

import { type Calls, callOperation, type PageQuery, withTags } from '../../client/calls.ts';
import type { TemplateBody } from './messages.ts';

export function templatesClient(client: Calls) {
  return {
    /** Writes a version once; repeating the same content is safe. */
    put(id: string, version: number, body: TemplateBody) {
      const sent = withTags(`The defaults of "${id}"`, body, 'defaults');
      return callOperation(client, 'PUT /v1/templates/:id/versions/:version', {
        ...sent,
        id,
        version,
      });
    },
    /** The version, or the newest. */
    read: (id: string, version?: number) =>
      callOperation(client, 'GET /v1/templates/:id', { id, version }),
    list: (page: PageQuery & { readonly id?: string } = {}) =>
      callOperation(client, 'GET /v1/templates', page),
  };
}
