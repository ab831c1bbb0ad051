// The client's methods for the archive.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import { requestTo } from '../../protocol/messages/request.ts';
import type { ArchivedMessage } from './messages.ts';

export interface ArchiveFilter extends PageQuery {
  readonly pipeline?: string;
  readonly status?: ArchivedMessage['status'];
  readonly tag?: string;
  /** Words of the key; all must match. */
  readonly text?: string;
  /** ISO 8601: ended at this time or later. */
  readonly from?: string;
  /** ISO 8601: ended before this time. */
  readonly to?: string;
}

export function archiveOf(client: Calls) {
  return {
    /** Sorted by end, newest first. */
    list: (filter: ArchiveFilter = {}) => callOperation(client, 'GET /v1/archive', filter),
    search: (text: string, filter: ArchiveFilter = {}) =>
      callOperation(client, 'GET /v1/archive', { ...filter, text }),
    get: (id: string) => callOperation(client, 'GET /v1/archive/:id', { id }),
    /** The content of one of its documents. */
    document(id: string, name: string): Promise<Uint8Array> {
      const { path, ...options } = requestTo('GET /v1/archive/:id/document', { id, name });
      return client.bytes(path, options);
    },
    verify: (id: string) => callOperation(client, 'GET /v1/archive/:id/verification', { id }),
    /** Processes one page of due executions. Pass the cursor to continue. */
    run: (page: PageQuery = {}) => callOperation(client, 'POST /v1/archive/run', page),
  };
}
