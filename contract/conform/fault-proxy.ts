// A proxy between a worker and a coordinator. It keeps every message of the worker with its reply,
// and can lose, repeat, delay, replace or change some of them.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { WriteMessage } from '../../src/protocol/messages/work.ts';
import {
  WORK_KINDS,
  type WorkKind,
  workMessage,
} from '../../src/protocol/messages/work-messages.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemTimers } from '../../src/support/timer.ts';

/** A reply as the worker gets it. */
export interface ProxiedReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined if the content is not JSON. */
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
}

/** A message of the worker. */
export interface ObservedMessage {
  readonly kind: WorkKind | 'unknown';
  readonly method: string;
  readonly path: string;
  /** Path, query and body fields in one object. */
  readonly body: Readonly<Record<string, unknown>>;
  /** When it arrived, by the monotonic clock. */
  readonly at: number;
}

/** A message, and its reply once there is one. */
export interface Exchange extends ObservedMessage {
  /** The reply of the coordinator, or of a fault in its place. */
  reply?: ProxiedReply;
  /** True if a fault touched it. */
  isFaulted?: boolean;
}

/** Decides what the worker gets. Undefined cuts the connection without a reply. */
export type ProxyFault = (
  forward: () => Promise<ProxiedReply>,
  message: ObservedMessage,
) => Promise<ProxiedReply | undefined>;

/** The message does not reach the coordinator. */
export const cutConnection: ProxyFault = async () => undefined;

/** The coordinator does it, and the worker gets no reply. */
export const replyLost: ProxyFault = async (forward) => {
  await forward();
  return undefined;
};

/** The coordinator gets it twice. */
export const doubled: ProxyFault = (forward) => forward().then(forward);

/** The coordinator does not get it, and the worker gets this reply. */
export function replaced(reply: ProxiedReply): ProxyFault {
  return async () => reply;
}

/** The worker gets a changed reply. */
export function edited(edit: (json: unknown) => unknown): ProxyFault {
  return async (forward) => {
    const reply = await forward();
    return reply.status === 200 ? { ...reply, json: edit(reply.json) } : reply;
  };
}

/** The message waits before it reaches the coordinator. */
export function held(until: Promise<unknown>): ProxyFault {
  return (forward) => until.then(forward);
}

interface PlannedFault {
  matches(message: ObservedMessage): boolean;
  readonly fault: ProxyFault;
  /** The number of messages that it still touches. */
  left: number;
}

/** Names in paths, as in the routes. */
const ROUTES = WORK_KINDS.map((kind) => {
  const { method, path } = workMessage(kind);
  return { kind, method, pattern: new RegExp(`^${path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`) };
});

const IDENTITY = ['authorization', 'holdfast-project'];
/** Headers that a worker's request keeps on its way. */
const PASSED = [...IDENTITY, 'content-type'];

function passedHeaders(
  headers: IncomingMessage['headers'],
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

export class FaultProxy {
  readonly exchanges: Exchange[] = [];
  readonly #upstream: string;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });
  readonly #waiting: Set<() => void> = new Set();
  #faults: PlannedFault[] = [];
  #version = 0;
  /** The key and the project of the worker, as it sent them last. */
  #identity: Readonly<Record<string, string>> = {};

  constructor(upstream: string) {
    this.#upstream = upstream.replace(/\/+$/, '');
  }

  async listen(port: number): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Applies a fault to the next messages that match: one, or `times`. Returns its removal. */
  plan(matches: PlannedFault['matches'], fault: ProxyFault, times = 1): () => void {
    const planned: PlannedFault = { matches, fault, left: times };
    this.#faults.push(planned);
    return () => {
      this.#faults = this.#faults.filter((each) => each !== planned);
    };
  }

  /** Sends a message in the name of the worker. */
  async sendAsWorker(path: string, body: object): Promise<void> {
    const response = await fetch(`${this.#upstream}${path}`, {
      method: 'POST',
      headers: { ...this.#identity, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path} was refused with ${response.status}.`);
  }

  /**
   * Looks again after each message and each reply, until `find` returns something. Returns
   * undefined if the time is over first.
   */
  async until<Found>(
    find: () => Found | undefined | Promise<Found | undefined>,
    ms: number,
  ): Promise<Found | undefined> {
    const over = systemClock.monotonicMs() + ms;
    for (;;) {
      const version = this.#version;
      const found = await find();
      if (found !== undefined) return found;
      const leftMs = over - systemClock.monotonicMs();
      if (leftMs <= 0) return undefined;
      if (version === this.#version) await this.#changed(leftMs);
    }
  }

  #changed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#waiting.delete(done);
        resolve();
      };
      const cancel = systemTimers.after(ms, done);
      this.#waiting.add(done);
    });
  }

  #noteChange(): void {
    this.#version += 1;
    for (const each of [...this.#waiting]) each();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    const exchange: Exchange = messageOf(request, bytes);
    this.exchanges.push(exchange);
    this.#identity = passedHeaders(request.headers, IDENTITY);
    const planned = this.#faults.find((each) => each.left > 0 && each.matches(exchange));
    this.#noteChange();
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    const forward = async (): Promise<ProxiedReply> => {
      // A worker that hangs up takes back only a wait: any other message has left it.
      const signal = exchange.kind === 'waitForWakeup' ? { signal: stop.signal } : {};
      const found = await this.#forward(request, bytes, signal);
      exchange.reply = exchange.kind === 'greet' ? withoutOffers(found) : found;
      this.#noteChange();
      return exchange.reply;
    };
    if (planned !== undefined) {
      planned.left -= 1;
      exchange.isFaulted = true;
    }
    const reply = await (planned === undefined ? forward() : planned.fault(forward, exchange));
    if (reply !== undefined) exchange.reply = reply;
    this.#noteChange();
    if (reply === undefined) response.destroy();
    else send(response, reply);
  }

  async #forward(
    request: IncomingMessage,
    bytes: Uint8Array,
    signal: { readonly signal?: AbortSignal },
  ): Promise<ProxiedReply> {
    const { method = 'GET', url = '/', headers } = request;
    const response = await fetch(`${this.#upstream}${url}`, {
      method,
      headers: passedHeaders(headers, PASSED),
      ...(bytes.length === 0 ? {} : { body: Uint8Array.from(bytes) }),
      ...signal,
    });
    const content = new Uint8Array(await response.arrayBuffer());
    const type = response.headers.get('content-type') ?? '';
    const after = response.headers.get('retry-after');
    return {
      status: response.status,
      headers: {
        ...(type === '' ? {} : { 'content-type': type }),
        ...(after === null ? {} : { 'retry-after': after }),
      },
      ...(type.includes('json') ? { json: parsedJson(content) } : { bytes: content }),
    };
  }
}

/** Faults concern single messages, so the worker must send each, and wait for none but wakeups. */
function withoutOffers(reply: ProxiedReply): ProxiedReply {
  const { json } = reply;
  const isGreeting = typeof json === 'object' && json !== null;
  return isGreeting ? { ...reply, json: { ...json, stream: false, claimsWait: false } } : reply;
}

function send(response: ServerResponse, { status, headers, json, bytes }: ProxiedReply): void {
  const type = { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' };
  response.writeHead(status, { ...(json === undefined ? {} : type), ...headers });
  response.end(json === undefined ? bytes : JSON.stringify(json));
}

function messageOf(request: IncomingMessage, bytes: Uint8Array): ObservedMessage {
  const { method = 'GET', url = '/' } = request;
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const at = systemClock.monotonicMs();
  for (const { kind, method: asked, pattern } of ROUTES) {
    const found = method === asked ? pattern.exec(pathname) : null;
    if (found === null) continue;
    const json = workMessage(kind).bytes === 'sent' ? {} : parsedJson(bytes);
    const body = { ...Object.fromEntries(searchParams), ...found.groups, ...(json as object) };
    return { kind, method, path: pathname, body, at };
  }
  return { kind: 'unknown', method, path: pathname, body: {}, at };
}

function parsedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** The writes of a message; none if it is another message. */
export function writesIn({ kind, body }: ObservedMessage): readonly WriteMessage[] {
  const { writes } = body as { readonly writes?: unknown };
  return kind === 'writeAsOwner' && Array.isArray(writes) ? (writes as WriteMessage[]) : [];
}
