// Templates and schedules.

import type {
  ScheduleBody,
  ScheduleMessage,
  TemplateBody,
  TemplateMessage,
} from '../protocol/messages/plans.ts';
import { type Calls, type Page, type PageQuery, part } from './calls.ts';
import { withTags } from './tagged.ts';

export class Templates {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** A version is written once; the same again is fine. */
  put(id: string, version: number, body: TemplateBody): Promise<{ readonly existing: boolean }> {
    const path = `/v1/templates/${part(id)}/versions/${version}`;
    const sent = withTags(`The defaults of "${id}"`, body, 'defaults');
    return this.#client.call(path, { method: 'PUT', body: sent });
  }

  /** The version, or the newest. */
  read(id: string, version?: number): Promise<TemplateMessage> {
    return this.#client.call(`/v1/templates/${part(id)}`, { query: { version } });
  }

  list(page: PageQuery & { readonly id?: string } = {}): Promise<Page<TemplateMessage>> {
    return this.#client.call('/v1/templates', { query: { ...page } });
  }
}

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
