// Dead letters and bulk acts.

import { type Calls, type Page, type PageQuery, part } from '../../client/calls.ts';
import type {
  BulkCancelBody,
  BulkRedriveBody,
  DeadLetterGroups,
  DeadLetterMessage,
  JobItemPage,
  JobMessage,
} from './messages.ts';

export interface DeadLetterFilter extends PageQuery {
  readonly pipeline?: string;
  readonly code?: string;
  readonly step?: string;
  /** Only those that were not driven again. */
  readonly open?: boolean;
}

export class DeadLetters {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** Newest first. */
  list(filter: DeadLetterFilter = {}): Promise<Page<DeadLetterMessage>> {
    return this.#client.call('/v1/dead-letters', { query: { ...filter } });
  }

  async groups(filter: { readonly open?: boolean } = {}): Promise<DeadLetterGroups['items']> {
    const { items } = await this.#client.call<DeadLetterGroups>('/v1/dead-letters/groups', {
      query: { ...filter },
    });
    return items;
  }

  read(execution: string): Promise<DeadLetterMessage> {
    return this.#client.call(`/v1/dead-letters/${part(execution)}`);
  }
}

interface Commanded {
  readonly kind: 'done' | 'passed-on' | 'no-change';
  readonly status: string;
}

export class Jobs {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  redrive(body: BulkRedriveBody = {}): Promise<{ readonly id: string }> {
    return this.#client.call('/v1/jobs/redrive', { method: 'POST', body });
  }

  cancel(body: BulkCancelBody): Promise<{ readonly id: string }> {
    return this.#client.call('/v1/jobs/cancel', { method: 'POST', body });
  }

  list(page: PageQuery = {}): Promise<Page<JobMessage>> {
    return this.#client.call('/v1/jobs', { query: { ...page } });
  }

  read(id: string): Promise<JobMessage> {
    return this.#client.call(`/v1/jobs/${part(id)}`);
  }

  items(id: string, page: PageQuery = {}): Promise<JobItemPage> {
    return this.#client.call(`/v1/jobs/${part(id)}/items`, { query: { ...page } });
  }

  pause(id: string, reason?: string): Promise<Commanded> {
    return this.#act(id, 'pause', reason);
  }

  resume(id: string, reason?: string): Promise<Commanded> {
    return this.#act(id, 'resume', reason);
  }

  stop(id: string, reason?: string): Promise<Commanded> {
    return this.#act(id, 'stop', reason);
  }

  #act(id: string, verb: string, reason: string | undefined): Promise<Commanded> {
    const body = reason === undefined ? {} : { reason };
    return this.#client.call(`/v1/jobs/${part(id)}/${verb}`, { method: 'POST', body });
  }
}
