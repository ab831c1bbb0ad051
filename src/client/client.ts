// `holdfast/client`: the API of a coordinator, typed by the schemas that check it. At run time it
// depends only on `fetch`; in Node it can also use a WebSocket.

import { keysClient, projectsClient } from '../features/access/client.ts';
import { recordsOf } from '../features/audit/client.ts';
import { awaitsClient } from '../features/awaits/client.ts';
import { channelsClient } from '../features/channels/client.ts';
import { overviewClient } from '../features/overview/client.ts';
import { releasesClient } from '../features/releases/client.ts';
import { deadLettersClient, jobsClient } from '../features/repair/client.ts';
import { archiveOf } from '../features/retention/client.ts';
import { schedulesClient } from '../features/schedules/client.ts';
import { templatesClient } from '../features/templates/client.ts';
import { viewsClient } from '../features/views/client.ts';
import { requestTo } from '../protocol/messages/request.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { lostReply } from '../support/no-reply.ts';
import {
  headerText,
  integerOption,
  optionalBooleans,
  optionalFunctions,
  readOptions,
  requireUrls,
} from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { bodyOf, type CallOptions, refusalOf } from './calls.ts';
import { Executions } from './executions.ts';
import { eventsOf, type ServerEvent } from './follow.ts';
import { leasesOf, sessionsOf } from './sessions.ts';
import { ClientStream } from './stream.ts';

export { type CallOptions, CallRefused, type Page } from './calls.ts';
export { Executions, type ListFilter } from './executions.ts';
export type { Seen, WatchOptions } from './follow.ts';

/** Options of `HoldfastClient`. */
export interface ClientOptions {
  /**
   * The coordinator, such as `http://127.0.0.1:7433`, or several of one store. The client uses one
   * of them. When that one does not respond, it changes to the next, and repeats there what had no
   * effect: a read, or a request that was not sent.
   */
  readonly url: string | readonly string[];
  /** An access key. Not needed if authentication is off. */
  readonly key?: string;
  /** The project, for access keys of all projects and if authentication is off. */
  readonly project?: string;
  /** The function that sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * True (default): in Node, submits and results use one WebSocket, if the coordinator and the
   * proxies in between allow it. It closes after 10 s without a call. False, or with a `fetch`: each
   * is an HTTP request.
   */
  readonly stream?: boolean;
  /**
   * Milliseconds to wait for a response, 100 to 3,600,000. A request that waits for an event gets
   * this time in addition. A read may need it for each URL. Default 30,000.
   */
  readonly timeoutMs?: number;
}

const NAMES: readonly (keyof ClientOptions)[] = [
  ...(['url', 'key', 'project', 'fetch', 'stream', 'timeoutMs'] as const),
];
const TIMEOUT_MS = { min: 100, max: 3_600_000 };
const WORD_BYTES_MAX = 256;

/**
 * A client of a coordinator's HTTP API.
 *
 * Methods throw `CallRefused` if the coordinator refuses the request, `StoreUnavailable` if it
 * cannot be reached, and `InvalidInput` for invalid arguments. They throw `OutcomeUnknown` if the
 * connection breaks after a write was sent: the write may or may not have had its effect.
 *
 * @example
 * const client = new HoldfastClient({ url: 'http://127.0.0.1:7433' });
 * const { id } = await client.executions.submit({ pipeline: 'order', input: { item: 'book' } });
 * console.log(await client.executions.result(id));
 */
export class HoldfastClient {
  /** Submits, reads and operates executions. */
  readonly executions: Executions;
  /** Questions that executions ask, and their answers. */
  readonly awaits = awaitsClient(this);
  /** Executions that ended without doing their work. */
  readonly deadLetters = deadLettersClient(this);
  /** Operations on many executions. */
  readonly jobs = jobsClient(this);
  /** The audit, notes and refused writes. */
  readonly records = recordsOf(this);
  /** Archived executions. */
  readonly archive = archiveOf(this);
  /** Stored submissions with names and versions. */
  readonly templates = templatesClient(this);
  /** Submissions at set times. */
  readonly schedules = schedulesClient(this);
  /** Builds of pipelines and their rollout. */
  readonly releases = releasesClient(this);
  /** Figures of the project: counts, rates, durations and causes of failures. */
  readonly overview = overviewClient(this);
  /** Filters of the console that the project shares. */
  readonly views = viewsClient(this);
  /** Channels: webhooks that announce what happens in the project. */
  readonly channels = channelsClient(this);
  /** Workers and sessions. */
  readonly sessions = sessionsOf(this);
  /** Leases. */
  readonly leases = leasesOf(this);
  /** Projects and their settings. Needs the admin routes. */
  readonly projects = projectsClient(this);
  /** Access keys. Needs the admin routes. */
  readonly keys = keysClient(this);
  readonly #options: ClientOptions;
  readonly #urls: readonly string[];
  /** The position of the URL in use. */
  #current = 0;
  readonly #timeoutMs: number;

  constructor(given: ClientOptions) {
    const options = readOptions('HoldfastClient', given, NAMES);
    const { key, project, timeoutMs = 30_000 } = options;
    this.#urls = requireUrls('HoldfastClient', options.url);
    if (key !== undefined) headerText('HoldfastClient: key', key, WORD_BYTES_MAX);
    if (project !== undefined) headerText('HoldfastClient: project', project, WORD_BYTES_MAX);
    optionalFunctions('HoldfastClient', { fetch: options.fetch });
    optionalBooleans('HoldfastClient', { stream: options.stream });
    this.#options = options;
    this.#timeoutMs = integerOption('timeoutMs', timeoutMs, TIMEOUT_MS);
    this.executions = new Executions(this, this.#timeoutMs, streamOf(this.#urls, options));
  }

  /**
   * Yields an event when lists may have changed: `changed`, or `reset` if events were missed.
   *
   * `after` continues after the event with this id; `signal` ends it.
   */
  async *hints(
    options: { readonly after?: string; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<ServerEvent> {
    const { after, ...rest } = options;
    const { path } = requestTo('GET /v1/events');
    for await (const event of eventsOf(this, path, { ...rest, query: { after } })) {
      if (event.event !== 'ping') yield event;
    }
  }

  /** Calls any route of the API and returns the parsed body. Throws `CallRefused`. */
  async call<Body>(path: string, options: CallOptions = {}): Promise<Body> {
    const { response, body } = await this.exchange(path, options);
    if (response.ok) return body as Body;
    throw refusalOf(response, body);
  }

  /** Calls a route and returns the `response` with its parsed `body`. Throws as `send`. */
  exchange(
    path: string,
    options: CallOptions = {},
  ): Promise<{ readonly response: Response; readonly body: unknown }> {
    return this.#timed(path, options, async (timed) => {
      const response = await this.#fetch(path, timed);
      return { response, body: await bodyOf(response) };
    });
  }

  /** Calls a route and returns the body as bytes. Throws `CallRefused`. */
  async bytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const response = await this.send(path, options);
    const lost = (cause: unknown): never => this.#lost(path, { ...options, url: this.#url }, cause);
    if (!response.ok) throw refusalOf(response, await bodyOf(response).catch(lost));
    return new Uint8Array(await response.arrayBuffer().catch(lost));
  }

  /**
   * Calls a route and returns the response. Throws `StoreUnavailable` if the coordinator cannot be
   * reached or a read gets no response in time, and `OutcomeUnknown` if a write gets none.
   */
  send(path: string, options: CallOptions): Promise<Response> {
    return this.#timed(path, options, (timed) => this.#fetch(path, timed));
  }

  #fetch(path: string, options: CallOptions): Promise<Response> {
    const { fetch: send = fetch } = this.#options;
    const { method = 'GET', query, body, signal } = options;
    return send(`${this.#url}${path}${queryText(query)}`, {
      method,
      headers: {
        ...headersOf(this.#options),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  get #url(): string {
    return this.#urls[this.#current] ?? '';
  }

  /** Each URL once, while the request certainly had no effect. */
  async #timed<Part>(
    path: string,
    options: CallOptions,
    exchange: (options: CallOptions) => Promise<Part>,
  ): Promise<Part> {
    for (let left = this.#urls.length; ; left -= 1) {
      const used = this.#current;
      try {
        return await this.#once(path, options, exchange);
      } catch (fault) {
        const isGone = fault instanceof StoreUnavailable || fault instanceof OutcomeUnknown;
        // Another request may have changed the URL meanwhile.
        if (isGone && used === this.#current) this.#current = (used + 1) % this.#urls.length;
        if (left === 1 || !(fault instanceof StoreUnavailable)) throw fault;
      }
    }
  }

  /** Gives `exchange` a signal that aborts at the time limit. A connection can also break earlier. */
  async #once<Part>(
    path: string,
    options: CallOptions,
    exchange: (options: CallOptions) => Promise<Part>,
  ): Promise<Part> {
    const { signal, query, body } = options;
    const over = new AbortController();
    const { waitMs: held = query?.['waitMs'] ?? 0 } = Object(body) as { readonly waitMs?: unknown };
    const waitMs = Number(held);
    const cancel = systemTimers.after(this.#timeoutMs + waitMs, () => over.abort());
    const signals = signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]);
    const url = this.#url;
    try {
      return await exchange({ ...options, signal: signals });
    } catch (cause) {
      return this.#lost(path, { ...options, url }, cause);
    } finally {
      cancel();
    }
  }

  #lost(
    path: string,
    { method = 'GET', signal, url }: CallOptions & { readonly url: string },
    cause: unknown,
  ): never {
    if (signal?.aborted === true || cause instanceof Fault) throw cause;
    throw lostReply({ url, path, isRead: method === 'GET' }, cause);
  }
}

function headersOf({ key, project }: ClientOptions): Readonly<Record<string, string>> {
  return {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(project === undefined ? {} : { 'holdfast-project': project }),
  };
}

/** Browsers cannot send the key with a stream, and a custom `fetch` must see every request. */
function streamOf(urls: readonly string[], options: ClientOptions): ClientStream | undefined {
  const isNode = globalThis.process?.versions?.node !== undefined;
  if (options.stream === false || !isNode || options.fetch !== undefined) return undefined;
  return new ClientStream(urls, headersOf(options));
}

function queryText(query: CallOptions['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'object' ? value : [value];
    return values.map((each): [string, string] => [name, String(each)]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
