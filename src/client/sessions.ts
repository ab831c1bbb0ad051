// The client's methods for workers, sessions and leases.

import type { AdviceQuery } from '../protocol/messages/advice.ts';
import type { DrainBody, RevokeBody } from '../protocol/messages/leases.ts';
import { type Calls, callOperation, type PageQuery } from './calls.ts';

/** The range of `sessions.heartbeats`. */
export interface HeartbeatsQuery {
  /** The length of the range in milliseconds, at most a week. Default one hour. */
  readonly rangeMs?: number;
  /** The end of the range, as ISO 8601. Default now. */
  readonly to?: string;
  /** The most sessions, those that lapsed first. Default 100. */
  readonly limit?: number;
}

/** Operations of `client.sessions`. */
export function sessionsOf(client: Calls) {
  return {
    /**
     * Returns a page of workers of the project. Keys of all projects also get workers of all
     * projects.
     */
    workers: (page: PageQuery = {}) => callOperation(client, 'GET /v1/workers', page),
    /** Returns a page of sessions; with `all`, ended ones too. */
    list: (page: PageQuery & { readonly all?: boolean } = {}) =>
      callOperation(client, 'GET /v1/sessions', page),
    /** Returns how the heartbeats of sessions did in a range, by default the last hour. */
    heartbeats: (query: HeartbeatsQuery = {}) => callOperation(client, 'GET /v1/heartbeats', query),
    /** Returns which ttl and grace fit the given goals. */
    advice: (query: AdviceQuery = {}) => callOperation(client, 'GET /v1/advice', query),
    /** Returns a session. */
    read: (id: string) => callOperation(client, 'GET /v1/sessions/:id', { id }),
    /** Ends a session and its leases by force. */
    end: (id: string, reason: string) =>
      callOperation(client, 'POST /v1/sessions/:id/end', { id, reason }),
  };
}

/** Operations of `client.leases`. */
export function leasesOf(client: Calls) {
  return {
    /**
     * Returns a page of leases by key, of those that start with `prefix`. With `staleOwner`, only
     * those whose holder missed heartbeats.
     */
    list: (page: PageQuery & { readonly prefix?: string; readonly staleOwner?: boolean } = {}) =>
      callOperation(client, 'GET /v1/leases', page),
    /** Returns the state of a lease. */
    read: (key: string) => callOperation(client, 'GET /v1/leases/:key', { key }),
    /** Asks the holder of a lease to stop by a deadline. */
    drain: (key: string, body: DrainBody) =>
      callOperation(client, 'POST /v1/leases/:key/drain', { ...body, key }),
    /** Ends the term of a lease now. */
    revoke: (key: string, body: RevokeBody) =>
      callOperation(client, 'POST /v1/leases/:key/revoke', { ...body, key }),
  };
}
