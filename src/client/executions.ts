// The client's methods for executions.

import type { RedriveBody } from '../features/repair/messages.ts';
import type {
  ExecutionInFull,
  ExecutionMessage,
  HistoryMessage,
  ResultMessage,
  SubmitBody,
} from '../protocol/messages/execution.ts';
import { type ResponseAt, requestTo } from '../protocol/messages/request.ts';
import type { DepthMessage } from '../protocol/messages/sessions.ts';
import { bodyOf, callOperation, type Page, refusalOf, withTags } from './calls.ts';
import type { HoldfastClient } from './client.ts';
import { followed, type Seen, type WatchOptions } from './follow.ts';

export interface ListFilter {
  readonly status?: readonly string[];
  readonly pipeline?: string;
  readonly tag?: string;
  readonly cursor?: string;
  readonly limit?: number;
}

/** The longest wait of one request for a result; the next request continues. */
const HELD_MS = 25_000;
const HISTORY_PAGE = 100;

export class Executions {
  readonly #client: HoldfastClient;
  readonly #warned: Set<string> = new Set();

  constructor(client: HoldfastClient) {
    this.#client = client;
  }

  /** A `warning` in what it resolves with is also a Node warning, once for each sentence. */
  async submit(body: SubmitBody): Promise<ResponseAt<'POST /v1/executions'>> {
    const sent = withTags('The input', body, 'input');
    const result = await callOperation(this.#client, 'POST /v1/executions', sent);
    const { warning } = result;
    if (warning !== undefined && !this.#warned.has(warning.detail)) {
      this.#warned.add(warning.detail);
      globalThis.process?.emitWarning(warning.detail, 'HoldfastWarning');
    }
    return result;
  }

  read(id: string): Promise<ExecutionInFull> {
    return callOperation(this.#client, 'GET /v1/executions/:id', { id });
  }

  /** How many are ready for a worker and how many run, by lane; each counted up to `max`. */
  depth(): Promise<DepthMessage> {
    return callOperation(this.#client, 'GET /v1/depth');
  }

  /** Newest first. */
  list(filter: ListFilter = {}): Promise<Page<ExecutionMessage>> {
    const { path } = requestTo('GET /v1/executions');
    return this.#client.call(path, { query: { ...filter } });
  }

  /** Waits until it has ended, whichever way. */
  async result(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ResultMessage> {
    const { path, query = {} } = requestTo('GET /v1/executions/:id/result', {
      ...{ id, waitMs: HELD_MS },
    });
    for (;;) {
      const response = await this.#client.send(path, { ...options, query });
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
      const asked = { id, limit: limit - all.length, after };
      const { items, more } = await callOperation(
        this.#client,
        'GET /v1/executions/:id/history',
        asked,
      );
      all.push(...items);
      // A page may end early because of its size.
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
    const { path } = requestTo('GET /v1/executions/:id/events', { id });
    const query = progress ? { progress } : {};
    return followed(this.#client, { path, query, after, ...rest });
  }

  explain(id: string): Promise<ResponseAt<'GET /v1/executions/:id/explain'>> {
    return callOperation(this.#client, 'GET /v1/executions/:id/explain', { id });
  }

  cancel(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/cancel', { id, reason });
  }

  pause(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/pause', { id, reason });
  }

  resume(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/resume', { id, reason });
  }

  signal(id: string, name: string, value?: unknown): Promise<Commanded> {
    const sent = withTags(`The value of signal "${name}"`, { name, value }, 'value');
    return callOperation(this.#client, 'POST /v1/executions/:id/signals', { ...sent, id });
  }

  /** A new execution that goes on where this one went wrong. */
  redrive(id: string, body: RedriveBody = {}): Promise<{ readonly id: string }> {
    return callOperation(this.#client, 'POST /v1/executions/:id/redrive', { ...body, id });
  }

  skipCompensation(
    id: string,
    body: { readonly step: string; readonly reason: string },
  ): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/skip-compensation', {
      ...body,
      id,
    });
  }

  retryCompensation(
    id: string,
    body: { readonly step: string; readonly reason?: string },
  ): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/retry-compensation', {
      ...body,
      id,
    });
  }
}

type Commanded = ResponseAt<'POST /v1/executions/:id/cancel'>;
