// Executions, as a client sees them.

import type { Static } from 'typebox';
import type { RedriveBody } from '../features/repair/messages.ts';
import type {
  commandAnswer,
  ExecutionInFull,
  ExecutionMessage,
  explanation,
  HistoryMessage,
  historyPage,
  ResultMessage,
  SubmitBody,
  submitted,
} from '../protocol/messages/execution.ts';
import type { DepthMessage } from '../protocol/messages/operations.ts';
import type { Page } from './calls.ts';
import { bodyOf, refusalOf, withTags } from './calls.ts';
import type { HoldfastClient } from './client.ts';
import { followed, type Seen, type WatchOptions } from './follow.ts';

export interface ListFilter {
  readonly status?: readonly string[];
  readonly pipeline?: string;
  readonly tag?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** How long one request waits for a result before the next one does. */
const HELD_MS = 25_000;
const HISTORY_PAGE = 100;

export class Executions {
  readonly #client: HoldfastClient;
  readonly #warned: Set<string> = new Set();

  constructor(client: HoldfastClient) {
    this.#client = client;
  }

  /** A `warning` in what it resolves with is also a Node warning, once for each sentence. */
  async submit(body: SubmitBody): Promise<Static<typeof submitted>> {
    const call = { method: 'POST', body: withTags('The input', body, 'input') } as const;
    const answer = await this.#client.call<Static<typeof submitted>>('/v1/executions', call);
    const { warning } = answer;
    if (warning !== undefined && !this.#warned.has(warning.detail)) {
      this.#warned.add(warning.detail);
      globalThis.process?.emitWarning(warning.detail, 'HoldfastWarning');
    }
    return answer;
  }

  read(id: string): Promise<ExecutionInFull> {
    return this.#client.call(pathOf(id));
  }

  /** How many are ready for a worker and how many run, by lane; each counted up to `max`. */
  depth(): Promise<DepthMessage> {
    return this.#client.call('/v1/depth');
  }

  /** Newest first. */
  list(filter: ListFilter = {}): Promise<Page<ExecutionMessage>> {
    return this.#client.call('/v1/executions', { query: { ...filter } });
  }

  /** Waits until it has ended, whichever way. */
  async result(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ResultMessage> {
    for (;;) {
      const response = await this.#client.send(`${pathOf(id)}/result`, {
        ...options,
        query: { waitMs: HELD_MS },
      });
      const body = await bodyOf(response);
      if (response.status === 200) return body as ResultMessage;
      if (response.status !== 202) throw refusalOf(response, body);
    }
  }

  async history(
    id: string,
    page: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly HistoryMessage[]> {
    const { limit = HISTORY_PAGE } = page;
    const all: HistoryMessage[] = [];
    for (let after = page.after; ; ) {
      const query = { limit: limit - all.length, ...(after === undefined ? {} : { after }) };
      const { items, more } = await this.#client.call<Static<typeof historyPage>>(
        `${pathOf(id)}/history`,
        { query },
      );
      all.push(...items);
      // A page ends early for its size.
      if (more !== true || all.length >= limit) return all;
      after = items.at(-1)?.seq;
    }
  }

  /** Its history as it happens, from `after` on, until its end. A connection that broke is made again. */
  async *watch(id: string, options: WatchOptions = {}): AsyncGenerator<HistoryMessage> {
    for await (const seen of this.#seen(id, { ...options, progress: false })) {
      if (seen.kind === 'event') yield seen.event;
    }
  }

  /** As `watch`, with its progress between the events. */
  live(id: string, options: WatchOptions = {}): AsyncGenerator<Seen> {
    return this.#seen(id, { ...options, progress: true });
  }

  #seen(
    id: string,
    { after = 0, progress, ...rest }: WatchOptions & { readonly progress: boolean },
  ): AsyncGenerator<Seen> {
    const query = progress ? { progress } : {};
    return followed(this.#client, { path: `${pathOf(id)}/events`, query, after, ...rest });
  }

  explain(id: string): Promise<Static<typeof explanation>> {
    return this.#client.call(`${pathOf(id)}/explain`);
  }

  cancel(id: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    return this.#act(id, 'cancel', reason);
  }

  pause(id: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    return this.#act(id, 'pause', reason);
  }

  resume(id: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    return this.#act(id, 'resume', reason);
  }

  signal(id: string, name: string, value?: unknown): Promise<Static<typeof commandAnswer>> {
    const body: { name: string; value?: unknown } = {
      name,
      ...(value === undefined ? {} : { value }),
    };
    const sent = withTags(`The value of signal "${name}"`, body, 'value');
    return this.#client.call(`${pathOf(id)}/signals`, { method: 'POST', body: sent });
  }

  /** A new execution that goes on where this one went wrong. */
  redrive(id: string, body: RedriveBody = {}): Promise<{ readonly id: string }> {
    return this.#client.call(`/v1/executions/${id}/redrive`, { method: 'POST', body });
  }

  skipCompensation(
    id: string,
    body: { readonly step: string; readonly reason: string },
  ): Promise<Static<typeof commandAnswer>> {
    return this.#client.call(`/v1/executions/${id}/skip-compensation`, { method: 'POST', body });
  }

  retryCompensation(
    id: string,
    body: { readonly step: string; readonly reason?: string },
  ): Promise<Static<typeof commandAnswer>> {
    return this.#client.call(`/v1/executions/${id}/retry-compensation`, { method: 'POST', body });
  }

  #act(id: string, verb: string, reason?: string): Promise<Static<typeof commandAnswer>> {
    const body = reason === undefined ? {} : { reason };
    return this.#client.call(`${pathOf(id)}/${verb}`, { method: 'POST', body });
  }
}

function pathOf(id: string): string {
  return `/v1/executions/${encodeURIComponent(id)}`;
}
