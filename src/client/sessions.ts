// The client's methods for workers, sessions and leases.

import type { AdviceQuery } from '../protocol/messages/advice.ts';
import type { DrainBody, RevokeBody } from '../protocol/messages/sessions.ts';
import { ask, type Calls, type PageQuery } from './calls.ts';

export function sessionsOf(client: Calls) {
  return {
    /** The project's workers. Keys for all projects also see workers that serve all. */
    workers: (page: PageQuery = {}) => ask(client, 'GET /v1/workers', page),
    /** Continue while there is a cursor. */
    list: (page: PageQuery & { readonly all?: boolean } = {}) =>
      ask(client, 'GET /v1/sessions', page),
    /** Recommends ttl and grace for your goals, from measured and given behaviour. */
    advice: (query: AdviceQuery = {}) => ask(client, 'GET /v1/advice', query),
    read: (id: string) => ask(client, 'GET /v1/sessions/:id', { id }),
    /** Ends the session by force. */
    end: (id: string, reason: string) => ask(client, 'POST /v1/sessions/:id/end', { id, reason }),
  };
}

export function leasesOf(client: Calls) {
  return {
    list: (page: PageQuery & { readonly prefix?: string } = {}) =>
      ask(client, 'GET /v1/leases', page),
    read: (key: string) => ask(client, 'GET /v1/leases/:key', { key }),
    drain: (key: string, body: DrainBody) =>
      ask(client, 'POST /v1/leases/:key/drain', { ...body, key }),
    revoke: (key: string, body: RevokeBody) =>
      ask(client, 'POST /v1/leases/:key/revoke', { ...body, key }),
  };
}
