// `holdfast/client`: the API of a coordinator, typed by the schemas that check it. At run time it
// depends only on `fetch`; in Node it can also use a WebSocket.

import { keysClient, projectsClient } from '../features/access/client.ts';
import { recordsOf } from '../features/audit/client.ts';
import { awaitsClient } from '../features/awaits/client.ts';
import { overviewClient } from '../features/overview/client.ts';
import { releasesClient } from '../features/releases/client.ts';
import { deadLettersClient, jobsClient } from '../features/repair/client.ts';
import { archiveOf } from '../features/retention/client.ts';
import { schedulesClient } from '../features/schedules/client.ts';
import { templatesClient } from '../features/templates/client.ts';
import { viewsClient } from '../features/views/client.ts';
import { requestTo } from '../protocol/messages/request.ts';
import { Fault } from '../support/fault.ts';
import { lostReply } from '../support/no-reply.ts';
import {
  headerText,
  optionalBooleans,
  optionalFunctions,
  readOptions,
  requireUrl,
} from '../support/options.ts';
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
  /** The coordinator, such as `http://127.0.0.1:7433`. */
  readonly url: string;
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
}

const NAMES: readonly (keyof ClientOptions)[] = ['url', 'key', 'project', 'fetch', 'stream'];
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
  /** Workers and sessions. */
  readonly sessions = sessionsOf(this);
  /** Leases. */
  readonly leases = leasesOf(this);
  /** Projects and their settings. Needs the admin routes. */
  readonly projects = projectsClient(this);
  /** Access keys. Needs the admin routes. */
  readonly keys = keysClient(this);
  readonly #options: ClientOptions;

  constructor(given: ClientOptions) {
    const options = readOptions('HoldfastClient', given, NAMES);
    const { url, key, project } = options;
    requireUrl('HoldfastClient', url);
    if (key !== undefined) headerText('HoldfastClient: key', key, WORD_BYTES_MAX);
    if (project !== undefined) headerText('HoldfastClient: project', project, WORD_BYTES_MAX);
    optionalFunctions('HoldfastClient', { fetch: options.fetch });
    optionalBooleans('HoldfastClient', { stream: options.stream });
    this.#options = { ...options, url: url.replace(/\/+$/, '') };
    this.executions = new Executions(this, streamOf(this.#options));
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
    const response = await this.send(path, options);
    const body = await this.#read(path, options, () => bodyOf(response));
    if (response.ok) return body as Body;
    throw refusalOf(response, body);
  }

  /** Calls a route and returns the body as bytes. Throws `CallRefused`. */
  async bytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const response = await this.send(path, options);
    if (response.ok) {
      return new Uint8Array(await this.#read(path, options, () => response.arrayBuffer()));
    }
    throw refusalOf(response, await this.#read(path, options, () => bodyOf(response)));
  }

  /**
   * Calls a route and returns the response. Throws `StoreUnavailable` if the coordinator cannot be
   * reached, and `OutcomeUnknown` if the connection breaks after a write was sent.
   */
  async send(path: string, options: CallOptions): Promise<Response> {
    const { url, fetch: send = fetch } = this.#options;
    const { method = 'GET', query, body, signal } = options;
    const init = {
      method,
      headers: {
        ...headersOf(this.#options),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    return this.#read(path, options, () => send(`${url}${path}${queryText(query)}`, init));
  }

  /** A connection can also break within the response. */
  async #read<Part>(
    path: string,
    { method = 'GET', signal }: CallOptions,
    read: () => Promise<Part>,
  ): Promise<Part> {
    try {
      return await read();
    } catch (cause) {
      if (signal?.aborted === true || cause instanceof Fault) throw cause;
      throw lostReply({ url: this.#options.url, path, isRead: method === 'GET' }, cause);
    }
  }
}

function headersOf({ key, project }: ClientOptions): Readonly<Record<string, string>> {
  return {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(project === undefined ? {} : { 'holdfast-project': project }),
  };
}

/** Browsers cannot send the key with a stream, and a custom `fetch` must see every request. */
function streamOf(options: ClientOptions): ClientStream | undefined {
  const isNode = globalThis.process?.versions?.node !== undefined;
  if (options.stream === false || !isNode || options.fetch !== undefined) return undefined;
  return new ClientStream(options.url, headersOf(options));
}

function queryText(query: CallOptions['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = typeof value === 'object' ? value : [value];
    return values.map((each): [string, string] => [name, String(each)]);
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
