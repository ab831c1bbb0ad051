// The client's methods for saved views.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import type { SavedViewBody } from './messages.ts';

/** Operations of `client.views`. */
export function viewsClient(client: Calls) {
  return {
    /** Saves a view, or replaces its name, page and filter. The same again is safe. */
    put: (id: string, body: SavedViewBody) =>
      callOperation(client, 'PUT /v1/views/:id', { ...body, id }),
    /** Returns a page of views by id, by default those of all pages of the console. */
    list: (query: PageQuery & { readonly page?: string } = {}) =>
      callOperation(client, 'GET /v1/views', query),
    /** Deletes a view. */
    remove: (id: string) => callOperation(client, 'DELETE /v1/views/:id', { id }),
  };
}
