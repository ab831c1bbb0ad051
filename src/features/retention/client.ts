// The client's methods for the archive.

import { type Calls, callOperation, type PageQuery } from '../../client/calls.ts';
import { requestTo } from '../../protocol/messages/request.ts';
import type { ArchivedMessage } from './messages.ts';

/** Filters and page of a list of archived executions. */
export interface ArchiveFilter extends PageQuery {
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** The terminal status. */
  readonly status?: ArchivedMessage['status'];
  /** One of the execution's tags. */
  readonly tag?: string;
  /** Words that the execution's key must have, all of them. */
  readonly text?: string;
  /** Ended at this time or later, in ISO 8601. */
  readonly from?: string;
  /** Ended before this time, in ISO 8601. */
  readonly to?: string;
}

/** Operations of `client.archive`. */
export function archiveOf(client: Calls) {
  return {
    /** Returns a page of archived executions, the last ended first. */
    list: (filter: ArchiveFilter = {}) => callOperation(client, 'GET /v1/archive', filter),
    /** Returns a page of archived executions whose key has all these words. */
    search: (text: string, filter: ArchiveFilter = {}) =>
      callOperation(client, 'GET /v1/archive', { ...filter, text }),
    /** Returns an archived execution and its documents. */
    get: (id: string) => callOperation(client, 'GET /v1/archive/:id', { id }),
    /** Returns the content of an archived document. */
    document(id: string, name: string): Promise<Uint8Array> {
      const { path, ...options } = requestTo('GET /v1/archive/:id/document', { id, name });
      return client.bytes(path, options);
    },
    /** Compares the documents of an execution with their digests. */
    verify: (id: string) => callOperation(client, 'GET /v1/archive/:id/verification', { id }),
    /** Archives and removes executions past their retention, one page. */
    run: (page: PageQuery = {}) => callOperation(client, 'POST /v1/archive/run', page),
  };
}
