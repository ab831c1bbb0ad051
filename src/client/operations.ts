// Workers, sessions and leases.

import type { AdviceQuery, AdvisedMessage } from '../protocol/messages/advice.ts';
import type {
  DrainBody,
  LeaseMessage,
  ListedLeaseMessage,
  RevokeBody,
  SessionInFull,
  SessionMessage,
  WorkerMessage,
} from '../protocol/messages/operations.ts';
import { type Calls, type Page, type PageQuery, part } from './calls.ts';

export class Sessions {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** Of the project; for keys of all projects also those that work for all. */
  workers(page: PageQuery = {}): Promise<Page<WorkerMessage>> {
    return this.#client.call('/v1/workers', { query: { ...page } });
  }

  /** Go on while there is a cursor. */
  list(page: PageQuery & { readonly all?: boolean } = {}): Promise<Page<SessionMessage>> {
    return this.#client.call('/v1/sessions', { query: { ...page } });
  }

  /** Which ttl and grace fit what is wanted, and what is known or said of how sessions live. */
  advice(query: AdviceQuery = {}): Promise<AdvisedMessage> {
    return this.#client.call('/v1/advice', { query: { ...query } });
  }

  read(id: string): Promise<SessionInFull> {
    return this.#client.call(`/v1/sessions/${part(id)}`);
  }

  /** By force. */
  end(id: string, reason: string): Promise<{ readonly kind: 'ended' }> {
    return this.#client.call(`/v1/sessions/${part(id)}/end`, { method: 'POST', body: { reason } });
  }
}

export class Leases {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  list(page: PageQuery & { readonly prefix?: string } = {}): Promise<Page<ListedLeaseMessage>> {
    return this.#client.call('/v1/leases', { query: { ...page } });
  }

  read(key: string): Promise<LeaseMessage> {
    return this.#client.call(`/v1/leases/${part(key)}`);
  }

  drain(
    key: string,
    body: DrainBody,
  ): Promise<{ readonly kind: 'draining'; readonly deadlineInMs: number }> {
    return this.#client.call(`/v1/leases/${part(key)}/drain`, { method: 'POST', body });
  }

  revoke(key: string, body: RevokeBody): Promise<{ readonly kind: 'revoked' }> {
    return this.#client.call(`/v1/leases/${part(key)}/revoke`, { method: 'POST', body });
  }
}
