// Workers, sessions and leases.

import type { AdviceQuery } from '../protocol/messages/advice.ts';
import type { DrainBody, RevokeBody } from '../protocol/messages/sessions.ts';
import { ask, type Calls, type PageQuery } from './calls.ts';

export function sessionsOf(client: Calls) {
  return {
    /** Of the project; for keys of all projects also those that work for all. */
    workers: (page: PageQuery = {}) => ask(client, 'GET /v1/workers', page),
    /** Go on while there is a cursor. */
    list: (page: PageQuery & { readonly all?: boolean } = {}) =>
      ask(client, 'GET /v1/sessions', page),
    /** Which ttl and grace fit what is wanted, and what is known or said of how sessions live. */
    advice: (query: AdviceQuery = {}) => ask(client, 'GET /v1/advice', query),
    read: (id: string) => ask(client, 'GET /v1/sessions/:id', { id }),
    /** By force. */
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
