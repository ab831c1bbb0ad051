// The worker protocol over HTTP: each message is a request to its route, and one request stays open
// for wakeups.

import {
  faultOf,
  REPLY_TIMEOUT_MS,
  type Transport,
  type TransportRequest,
} from '../protocol/messages/envelope.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { type Fault, StoreUnavailable } from '../support/fault.ts';
import { lostReply } from '../support/no-reply.ts';
import type { Timers } from '../support/timer.ts';

export interface HttpTransportOptions {
  /** One coordinator, or several on the same store, such as http://127.0.0.1:7433. */
  readonly url: string | readonly string[];
  readonly key?: string;
  /** For keys of all projects. */
  readonly project?: string;
  readonly timers: Timers;
}

interface HttpRequest {
  readonly path: string;
  readonly init: RequestInit;
  /** The request may be repeated. */
  readonly isRead: boolean;
}

function requestOf({ kind, body = {}, bytes }: TransportRequest): HttpRequest {
  const { method, path, isRead = false } = workMessage(kind);
  const rest = new Map<string, unknown>(Object.entries(body));
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const query = method === 'GET' ? queryOf(rest) : '';
  return {
    path: `${filled}${query}`,
    isRead,
    init: { method, ...contentFor(method, rest, bytes) },
  };
}

function contentFor(
  method: string,
  rest: ReadonlyMap<string, unknown>,
  bytes: Uint8Array | undefined,
): RequestInit {
  if (bytes !== undefined) {
    const headers = { 'content-type': 'application/octet-stream' };
    return { body: bytes, headers } as RequestInit;
  }
  if (method !== 'POST' || rest.size === 0) return {};
  const body = JSON.stringify(Object.fromEntries(rest));
  return { body, headers: { 'content-type': 'application/json' } };
}

function queryOf(values: ReadonlyMap<string, unknown>): string {
  const given = [...values].filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  );
  return query.size === 0 ? '' : `?${query}`;
}

export function urlsOf({ url }: HttpTransportOptions): readonly string[] {
  const urls = typeof url === 'string' ? [url] : url;
  return urls.map((each) => each.replace(/\/+$/, ''));
}

export function headersOf({
  key,
  project,
}: HttpTransportOptions): Readonly<Record<string, string>> {
  return {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(project === undefined ? {} : { 'holdfast-project': project }),
  };
}

export function httpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options);
}

/**
 * Each request has a time limit. A failure becomes one of the faults that stores throw, so callers treat an absent
 * coordinator like an absent store.
 */
class HttpTransport implements Transport {
  readonly name = 'REST';
  readonly #bases: readonly string[];
  /** The index of the coordinator that replied last. */
  #current = 0;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timers: Timers;
  /** The requests in progress, and the coordinator of each. */
  readonly #underWay: Map<AbortController, string> = new Map();

  constructor(options: HttpTransportOptions) {
    this.#bases = urlsOf(options);
    this.#headers = headersOf(options);
    this.#timers = options.timers;
  }

  /** Returns the bytes or the JSON of the response; undefined for an empty one. */
  async request<Result>(message: TransportRequest): Promise<Result> {
    const request = requestOf(message);
    const { response, content } = await this.#send(message, request);
    if (response.ok) return content as Result;
    await this.#pauseAsAsked(message, response);
    throw faultFrom(request, response, content);
  }

  /** Callers send the message again at once, so the pause that a coordinator asks for is here. */
  async #pauseAsAsked(
    { timeoutMs = REPLY_TIMEOUT_MS, signal }: TransportRequest,
    { headers }: Response,
  ): Promise<void> {
    const seconds = Number(headers.get('retry-after') ?? 0);
    if (seconds > 0) await this.#timers.pause(Math.min(seconds * 1_000, timeoutMs), signal);
  }

  async close(): Promise<void> {
    // Nothing is kept open between requests.
  }

  /**
   * If certainly nothing was sent, tries the next coordinator. Otherwise only the next request goes
   * there.
   */
  async #send(message: TransportRequest, request: HttpRequest): Promise<HttpReply> {
    for (let tries = 1; ; tries += 1) {
      const base = this.#base;
      try {
        return await this.#sendTo(base, message, request);
      } catch (cause) {
        this.#leave(base);
        const { path, isRead } = request;
        const fault = lostReply({ url: base, path, isRead }, cause);
        const isHarmless = fault instanceof StoreUnavailable;
        if (!isHarmless || message.signal?.aborted === true || tries >= this.#bases.length)
          throw fault;
      }
    }
  }

  /** The time limit covers the whole response: a coordinator can fall silent after its headers. */
  async #sendTo(
    base: string,
    message: TransportRequest,
    { path, init }: HttpRequest,
  ): Promise<HttpReply> {
    const { kind, signal, timeoutMs = REPLY_TIMEOUT_MS } = message;
    const over = new AbortController();
    this.#underWay.set(over, base);
    const cancel = this.#timers.after(timeoutMs, () => {
      over.abort();
      // A coordinator that does not reply to a heartbeat in time does not reply to other messages
      // either.
      if (kind === 'heartbeat') this.#giveUp(base);
    });
    try {
      const response = await fetch(`${base}${path}`, {
        ...init,
        headers: { ...this.#headers, ...init.headers },
        signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
      });
      return { response, content: await contentOf(response) };
    } finally {
      cancel();
      this.#underWay.delete(over);
    }
  }

  /** Moves on once, however many requests fail there together. */
  #leave(base: string): void {
    if (this.#base === base) this.#current += 1;
  }

  /** A silent host would keep everything waiting; the next coordinator may respond (P4). */
  #giveUp(base: string): void {
    if (this.#bases.length === 1) return;
    for (const [over, address] of [...this.#underWay]) if (address === base) over.abort();
  }

  get #base(): string {
    return this.#bases[this.#current % this.#bases.length] ?? '';
  }
}

interface HttpReply {
  readonly response: Response;
  readonly content: unknown;
}

async function contentOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  if (response.headers.get('content-type') === 'application/octet-stream') {
    return new Uint8Array(await response.arrayBuffer());
  }
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    // A proxy in between may refuse with a page of its own.
    if (!response.ok) return {};
    throw cause;
  }
}

function faultFrom({ init, path }: HttpRequest, response: Response, content: unknown): Fault {
  const problem = content as { code?: string; detail?: string };
  const { code = `http-${response.status}`, detail = response.statusText } = problem;
  return faultOf(code, `${init.method} ${path}: ${detail}`, response.status);
}
