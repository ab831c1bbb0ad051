// The client's methods for executions.

import type { RedriveBody } from '../features/repair/messages.ts';
import { postUpdate, readPublished, type SentUpdate } from '../features/updates/client.ts';
import type { ReplyEnvelope } from '../protocol/messages/envelope.ts';
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
import { callOperation, type Page, refusalOf, withTags } from './calls.ts';
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
  /** The beginning of the key. */
  readonly keyPrefix?: string;
  /** The beginning of the id. */
  readonly idPrefix?: string;
  /**
   * The beginning of the id, if it has eight or more hexadecimal digits only; otherwise of the key.
   */
  readonly q?: string;
  /** The execution that spawned it. */
  readonly parent?: string;
  /** True: only executions without a parent. */
  readonly topLevel?: boolean;
  /**
   * True: only running executions whose owner is stale: its session missed heartbeats, or has ended
   * and no other worker has taken over yet. Default false.
   */
  readonly staleOwner?: boolean;
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
  /** Ended at or after this time, as ISO 8601 text. */
  readonly endedFrom?: string;
  /** Ended before this time, as ISO 8601 text. */
  readonly endedTo?: string;
  /**
   * By submission, or by end: the last one first, without open executions. Default `newest`; with
   * `endedFrom` or `endedTo`, `ended`.
   */
  readonly sort?: 'newest' | 'oldest' | 'ended';
  /** The `cursor` of the previous page. */
  readonly cursor?: string;
  /** Executions per page. */
  readonly limit?: number;
}

/** The longest wait of one request for a result; the next request continues. */
const HELD_MS = 25_000;
const HISTORY_PAGE = 100;

/**
 * Executions of a coordinator. Reach it as `client.executions`.
 *
 * @example
 * const { id } = await client.executions.submit({ pipeline: 'order', input: { item: 'book' }, key: 'order-17' });
 * const result = await client.executions.result(id);
 */
export class Executions {
  readonly #client: HoldfastClient;
  readonly #timeoutMs: number;
  readonly #stream: ClientStream | undefined;
  readonly #warned: Set<string> = new Set();

  constructor(client: HoldfastClient, timeoutMs: number, stream?: ClientStream) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    this.#stream = stream;
  }

  /** Submits an execution. A `warning` in the response is also a Node warning, once per text. */
  async submit(body: SubmitBody): Promise<ResponseAt<'POST /v1/executions'>> {
    const sent = withTags('The input', body, 'input');
    const streamed = this.#stream?.call({
      ...{ kind: 'submitExecution', body: sent },
      timeoutMs: this.#timeoutMs + (body.waitMs ?? 0),
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

  /**
   * Submits an execution and returns how it ended. If it ends within 25 s, this is one request;
   * otherwise more requests wait for it.
   *
   * Pass a `key`: if the connection breaks meanwhile, the method throws `OutcomeUnknown`, and the
   * same call again returns the end of the same execution. `signal` stops only the later requests.
   *
   * @example
   * const { status, output } = await client.executions.run({ pipeline: 'order', input: 7, key: 'order-17' });
   */
  async run(
    body: Omit<SubmitBody, 'waitMs'>,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<ResultMessage> {
    const { id, result } = await this.submit({ ...body, waitMs: HELD_MS });
    return result ?? this.result(id, options);
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
      const { response, body } = await this.#client.exchange(path, { ...options, query });
      if (response.status === 200) return body as ResultMessage;
      if (response.status !== 202) throw refusalOf(response, body);
    }
  }

  /** Undefined if there is no stream, or it broke: only a request then shows why. */
  async #streamedResult(id: string, signal?: AbortSignal): Promise<ReplyEnvelope | undefined> {
    const body = { id, waitMs: HELD_MS };
    const timeoutMs = HELD_MS + this.#timeoutMs;
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

  /**
   * Returns an execution and its history as stored, for `replayHistory` of `holdfast/testing`. Keep
   * it as JSON.
   */
  saveHistory(id: string): Promise<ResponseAt<'GET /v1/executions/:id/saved-history'>> {
    return callOperation(this.#client, 'GET /v1/executions/:id/saved-history', { id });
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

  /**
   * Cancels an execution. With `force`, it ends at once, also while a worker runs it: nothing is
   * cleaned up or compensated.
   */
  cancel(
    id: string,
    reason?: string,
    options: { readonly force?: boolean } = {},
  ): Promise<Commanded> {
    const { force } = options;
    return callOperation(this.#client, 'POST /v1/executions/:id/cancel', { id, reason, force });
  }

  /** Pauses an execution. */
  pause(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/pause', { id, reason });
  }

  /** Resumes an execution that was paused or blocked. */
  resume(id: string, reason?: string): Promise<Commanded> {
    return callOperation(this.#client, 'POST /v1/executions/:id/resume', { id, reason });
  }

  /**
   * Erases the values of an ended execution, in the store and in the archive. Call it again while
   * the response has `pending`.
   */
  erase(id: string, reason: string): Promise<ResponseAt<'POST /v1/executions/:id/erase'>> {
    return callOperation(this.#client, 'POST /v1/executions/:id/erase', { id, reason });
  }

  /**
   * Sends a signal that the execution's code gets from `ctx.receive(name)`. With a `name` and a
   * `key`, a second one with that key changes nothing.
   */
  signal(
    id: string,
    signal: string | { readonly name: string; readonly key?: string },
    value?: unknown,
  ): Promise<Commanded> {
    const named: { name: string; key?: string } =
      typeof signal === 'string' ? { name: signal } : signal;
    const { name } = named;
    const body = { name, value, key: named.key };
    const sent = withTags(`The value of signal "${name}"`, body, 'value');
    return callOperation(this.#client, 'POST /v1/executions/:id/signals', { ...sent, id });
  }

  /**
   * Sends an update, which the code gets from `ctx.receive(name, { update: true })`, and waits for the
   * reply, by default up to 10 s. With a `key`, a repeated call gets the same reply.
   *
   * @example
   * const result = await client.executions.update(id, { name: 'add', value: 'tent', key: 'add/1' });
   */
  update(id: string, update: SentUpdate): Promise<ResponseAt<'POST /v1/executions/:id/updates'>> {
    return postUpdate(this.#client, id, update);
  }

  /**
   * Sends a query to the code and returns the result of its `ctx.onQuery` handler. A worker replays
   * the history for it; nothing of the execution is written.
   */
  query(
    id: string,
    name: string,
    value?: unknown,
  ): Promise<ResponseAt<'POST /v1/executions/:id/queries'>> {
    const sent = withTags(`The value of query "${name}"`, { name, value }, 'value');
    return callOperation(this.#client, 'POST /v1/executions/:id/queries', { ...sent, id });
  }

  /**
   * Returns a value that the code published with `ctx.publish`, or undefined if there is none. Waits
   * for it for up to `waitMs` (default 0), or until the execution ends.
   */
  published(
    id: string,
    name: string,
    { waitMs = 0 }: { readonly waitMs?: number } = {},
  ): Promise<ResponseAt<'GET /v1/executions/:id/published/:name'> | undefined> {
    return readPublished(this.#client, id, { name, waitMs });
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
