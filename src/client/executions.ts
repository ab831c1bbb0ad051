// The client's methods for executions.

import type { RedriveBody } from '../features/repair/messages.ts';
import { REPLY_TIMEOUT_MS, type ReplyEnvelope } from '../protocol/messages/envelope.ts';
import type {
  ExecutionInFull,
  ExecutionMessage,
  HistoryMessage,
  ResultMessage,
} from '../protocol/messages/execution.ts';
import { type ResponseAt, requestTo } from '../protocol/messages/request.ts';
import type { DepthMessage } from '../protocol/messages/sessions.ts';
import type { SubmitBody } from '../protocol/messages/submission.ts';
import { StoreUnavailable } from '../support/fault.ts';
import { bodyOf, callOperation, type Page, refusalOf, withTags } from './calls.ts';
import type { HoldfastClient } from './client.ts';
import { followed, type Seen, type WatchOptions } from './follow.ts';
import type { ClientStream } from './stream.ts';

/** Filters and page of a list of executions. All filters must match. */
export interface ListFilter {
  /** One of these statuses. */
  readonly status?: readonly string[];
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** One of the execution's tags. */
  readonly tag?: string;
  /** The key. */
  readonly key?: string;
  /** The begin of the key. */
  readonly keyPrefix?: string;
  /** The begin of the id. */
  readonly idPrefix?: string;
  /** The begin of the id, if it has eight or more hexadecimal digits only; otherwise of the key. */
  readonly q?: string;
  /** The execution that spawned it. */
  readonly parent?: string;
  /** True: only executions without a parent. */
  readonly topLevel?: boolean;
  /** Only with a dead letter: false without a re-drive, true with one. */
  readonly redriven?: boolean;
  /** Attributes that all match: `name`, `name=value`, `name>=number` or `name<=number`. */
  readonly where?: readonly string[];
  /** The release that it is pinned to. */
  readonly release?: string;
  /** The worker that runs it now: the owner or the id of its session. */
  readonly worker?: string;
  /** The code with which it failed for good. */
  readonly code?: string;
  /** Submitted at or after this time, as ISO 8601 text. */
  readonly submittedFrom?: string;
  /** Submitted before this time, as ISO 8601 text. */
  readonly submittedTo?: string;
  /** By submission, or by end: the last one first, without open executions. Default `newest`. */
  readonly sort?: 'newest' | 'oldest' | 'ended';
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** Executions per page. */
  readonly limit?: number;
}

/** The longest wait of one request for a result; the next request continues. */
const HELD_MS = 25_000;
const HISTORY_PAGE = 100;
/** After this time, the outcome of a submit is unknown. */
const SUBMIT_MS = 60_000;

/**
 * Executions of a coordinator. Reach it as `client.executions`.
 *
 * @example
 * const { id } = await client.executions.submit({ pipeline: 'order', input: { item: 'book' }, key: 'order-17' });
 * const result = await client.executions.result(id);
 */
export class Executions {
  readonly #client: HoldfastClient;
  readonly #stream: ClientStream | undefined;
  readonly #warned: Set<string> = new Set();

  constructor(client: HoldfastClient, stream?: ClientStream) {
    this.#client = client;
    this.#stream = stream;
  }

  /** Submits an execution. A `warning` in the response is also a Node warning, once per text. */
  async submit(body: SubmitBody): Promise<ResponseAt<'POST /v1/executions'>> {
    const sent = withTags('The input', body, 'input');
    const streamed = this.#stream?.call({
      ...{ kind: 'submitExecution', body: sent, timeoutMs: SUBMIT_MS },
    });
    const result =
      streamed === undefined
        ? await callOperation(this.#client, 'POST /v1/executions', sent)
        : ((await streamed).body as ResponseAt<'POST /v1/executions'>);
    const { warning } = result;
    if (warning !== undefined && !this.#warned.has(warning.detail)) {
      this.#warned.add(warning.detail);
      globalThis.process?.emitWarning(warning.detail, 'HoldfastWarning');
    }
    return result;
  }

  /** Returns an execution. */
  read(id: string): Promise<ExecutionInFull> {
    return callOperation(this.#client, 'GET /v1/executions/:id', { id });
  }

  /** Returns how many executions are ready and how many run, by lane, each counted up to `max`. */
  depth(): Promise<DepthMessage> {
    return callOperation(this.#client, 'GET /v1/depth');
  }

  /** Returns a page of executions, newest first. */
  list(filter: ListFilter = {}): Promise<Page<ExecutionMessage>> {
    const { path } = requestTo('GET /v1/executions');
    return this.#client.call(path, { query: { ...filter } });
  }

  /** Counts executions that match all filters, up to 10,000. `capped`: there may be more. */
  count(
    filter: Omit<ListFilter, 'sort' | 'cursor' | 'limit'> = {},
  ): Promise<ResponseAt<'GET /v1/executions/count'>> {
    const { path } = requestTo('GET /v1/executions/count');
    return this.#client.call(path, { query: { ...filter } });
  }

  /** Waits until an execution has ended and returns how. Stops when `signal` aborts. */
  async result(
    id: string,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ResultMessage> {
    const { path, query = {} } = requestTo('GET /v1/executions/:id/result', {
      ...{ id, waitMs: HELD_MS },
    });
    for (;;) {
      const reply = await this.#streamedResult(id, options.signal);
      if (reply?.status === 200) return reply.body as ResultMessage;
      if (reply !== undefined) continue;
      const response = await this.#client.send(path, { ...options, query });
      const body = await bodyOf(response);
      if (response.status === 200) return body as ResultMessage;
      if (response.status !== 202) throw refusalOf(response, body);
    }
  }

  /** Undefined if there is no stream, or it broke: only a request then shows why. */
  async #streamedResult(id: string, signal?: AbortSignal): Promise<ReplyEnvelope | undefined> {
    const body = { id, waitMs: HELD_MS };
    const timeoutMs = HELD_MS + REPLY_TIMEOUT_MS;
    try {
      return await this.#stream?.call({
        ...{ kind: 'readResult', body, isRead: true, signal, timeoutMs },
      });
    } catch (fault) {
      signal?.throwIfAborted();
      if (fault instanceof StoreUnavailable) return undefined;
      throw fault;
    }
  }

  /** Returns events of an execution in order, after event `after`; `limit` defaults to 100. */
  async history(
    id: string,
    page: { readonly after?: number; readonly limit?: number } = {},
  ): Promise<readonly HistoryMessage[]> {
    const { limit = HISTORY_PAGE } = page;
    const all: HistoryMessage[] = [];
    for (let after = page.after; ; ) {
      const request = { id, limit: limit - all.length, after };
      const { items, more } = await callOperation(
        this.#client,
        'GET /v1/executions/:id/history',
        request,
      );
      all.push(...items);
      // A page may end early because of its size.
      if (more !== true || all.length >= limit) return all;
      after = items.at(-1)?.seq;
    }
  }

  /**
   * Yields the events of an execution until it ends. Reconnects if the connection breaks.
   *
   * @example
   * for await (const event of client.executions.watch(id)) console.log(event.kind);
   */
  async *watch(id: string, options: WatchOptions = {}): AsyncGenerator<HistoryMessage> {
    for await (const seen of this.#seen(id, { ...options, progress: false })) {
      if (seen.kind === 'event') yield seen.event;
    }
  }

  /** Yields the events and the progress of an execution until it ends. */
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

  /** Returns why an execution is not progressing and what to do. */
  explain(id: string): Promise<ResponseAt<'GET /v1/executions/:id/explain'>> {
    return callOperation(this.#client, 'GET /v1/executions/:id/explain', { id });
  }

  /** Cancels an execution. */
  cancel(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/cancel', { id, reason });
  }

  /** Pauses an execution. */
  pause(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/pause', { id, reason });
  }

  /** Resumes an execution that was paused or blocked. */
  resume(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/resume', { id, reason });
  }

  /** Sends a signal that the execution's code gets from `ctx.receive(name)`. */
  signal(id: string, name: string, value?: unknown): Promise<Commanded> {
    const sent = withTags(`The value of signal "${name}"`, { name, value }, 'value');
    return callOperation(this.#client, 'POST /v1/executions/:id/signals', { ...sent, id });
  }

  /**
   * Starts a new execution that continues where a failed one stopped, and returns its `id`. `input`
   * replaces the input; results of earlier steps stay.
   */
  redrive(id: string, body: RedriveBody = {}): Promise<{ readonly id: string }> {
    const sent = withTags('The input of the re-drive', body, 'input');
    return callOperation(this.#client, 'POST /v1/executions/:id/redrive', { ...sent, id });
  }

  /** Skips the compensation of `step`, which keeps failing. `reason` is required. */
  skipCompensation(
    id: string,
    body: { readonly step: string; readonly reason: string },
  ): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/skip-compensation', {
      ...body,
      id,
    });
  }

  /** Retries the compensation of `step` now. `reason` is for the audit. */
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
