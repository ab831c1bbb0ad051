// Schedules, as a client sees them.

import { type Calls, type Page, type PageQuery, part, withTags } from '../../client/calls.ts';
import type { ScheduleBody, ScheduleMessage } from './messages.ts';

interface Changed {
  readonly kind: 'done' | 'no-change';
}

export class Schedules {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** Made, or changed to this. */
  put(id: string, body: ScheduleBody): Promise<ScheduleMessage> {
    const sent = withTags(`The input of schedule "${id}"`, body, 'input');
    return this.#client.call(`/v1/schedules/${part(id)}`, { method: 'PUT', body: sent });
  }

  read(id: string): Promise<ScheduleMessage> {
    return this.#client.call(`/v1/schedules/${part(id)}`);
  }

  list(page: PageQuery = {}): Promise<Page<ScheduleMessage>> {
    return this.#client.call('/v1/schedules', { query: { ...page } });
  }

  pause(id: string): Promise<Changed> {
    return this.#client.call(`/v1/schedules/${part(id)}/pause`, { method: 'POST' });
  }

  resume(id: string): Promise<Changed> {
    return this.#client.call(`/v1/schedules/${part(id)}/resume`, { method: 'POST' });
  }

  remove(id: string): Promise<Changed> {
    return this.#client.call(`/v1/schedules/${part(id)}`, { method: 'DELETE' });
  }
}
