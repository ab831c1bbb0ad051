// The client's methods for workers, sessions and leases.

import type { AdviceQuery } from '../protocol/messages/advice.ts';
import type { DrainBody, RevokeBody } from '../protocol/messages/sessions.ts';
import { type Calls, callOperation, type PageQuery } from './calls.ts';

export function sessionsOf(client: Calls) {
  return {
    /** The project's workers. Keys for all projects also see workers that serve all. */
    workers: (page: PageQuery = {}) => callOperation(client, 'GET /v1/workers', page),
    /** Continue while there is a cursor. */
    list: (page: PageQuery & { readonly all?: boolean } = {}) =>
      callOperation(client, 'GET /v1/sessions', page),
    /** Recommends ttl and grace for your goals, from measured and given behaviour. */
    advice: (query: AdviceQuery = {}) => callOperation(client, 'GET /v1/advice', query),
    read: (id: string) => callOperation(client, 'GET /v1/sessions/:id', { id }),
    /** Ends the session by force. */
    end: (id: string, reason: string) =>
      callOperation(client, 'POST /v1/sessions/:id/end', { id, reason }),
  };
}

export function leasesOf(client: Calls) {
  return {
    list: (page: PageQuery & { readonly prefix?: string } = {}) =>
      callOperation(client, 'GET /v1/leases', page),
    read: (key: string) => callOperation(client, 'GET /v1/leases/:key', { key }),
    drain: (key: string, body: DrainBody) =>
      callOperation(client, 'POST /v1/leases/:key/drain', { ...body, key }),
    revoke: (key: string, body: RevokeBody) =>
      callOperation(client, 'POST /v1/leases/:key/revoke', { ...body, key }),
  };
}
