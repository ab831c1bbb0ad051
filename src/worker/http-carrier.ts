// REST pull: every message is a request to its route, and the bell is one that is held open.

import { ASK_MS, type Ask, type Carrier } from '../protocol/messages/envelope.ts';
import { faultOf } from '../protocol/messages/problem.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { type Fault, OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { isUnsent, noAnswerText } from '../support/no-answer.ts';
import type { Timers } from '../support/timer.ts';

export function httpCarrier(options: LinkOptions): Carrier {
  const link = new Link(options);
  return {
    name: 'REST',
    ask: <Answer>(ask: Ask) => link.send<Answer>(requestOf(ask)),
    close: async () => undefined,
  };
}

function requestOf({ kind, body = {}, bytes, signal, timeoutMs }: Ask): HttpAsk {
  const { method, path, isRead = false } = workMessage(kind);
  const rest = new Map<string, unknown>(Object.entries(body));
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const asked = method === 'GET' ? queryOf(rest) : '';
  const hasBody = method === 'POST' && rest.size > 0;
  return {
    method,
    path: `${filled}${asked}`,
    isRead,
    isPulse: kind === 'heartbeat',
    ...(hasBody ? { body: Object.fromEntries(rest) } : {}),
    ...(bytes === undefined ? {} : { bytes }),
    ...(signal === undefined ? {} : { signal }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function queryOf(values: ReadonlyMap<string, unknown>): string {
  const given = [...values].filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  );
  return query.size === 0 ? '' : `?${query}`;
}

// Requests to a coordinator over HTTP. Each has a time limit. A failure becomes one of the faults that stores throw, so
// callers treat an absent coordinator like an absent store.

export interface LinkOptions {
  /** One coordinator, or several on the same store, such as http://127.0.0.1:7433. */
  readonly url: string | readonly string[];
  readonly key?: string;
  /** For keys of all projects. */
  readonly project?: string;
  readonly timers: Timers;
}

interface HttpAsk {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** It may be repeated. */
  readonly isRead?: boolean;
  /** Where this is not answered in time, nothing that was sent there is waited for any longer. */
  readonly isPulse?: boolean;
}

export class Link {
  readonly #bases: readonly string[];
  /** The one that answered last. */
  #current = 0;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timers: Timers;
  /** Requests that wait for an answer, and the coordinator of each. */
  readonly #underWay: Map<AbortController, string> = new Map();

  constructor({ url, key, project, timers }: LinkOptions) {
    const urls = typeof url === 'string' ? [url] : url;
    this.#bases = urls.map((each) => each.replace(/\/+$/, ''));
    this.#headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(project === undefined ? {} : { 'holdfast-project': project }),
    };
    this.#timers = timers;
  }

  /** Returns the bytes or the JSON of the answer; undefined for an empty one. */
  async send<Answer>(ask: HttpAsk): Promise<Answer> {
    const { response, content } = await this.#send(ask);
    if (!response.ok) throw faultFrom(ask, response, content);
    return content as Answer;
  }

  /** Where it is known that nothing was sent, the next one is asked; else the next request goes there. */
  async #send(ask: HttpAsk): Promise<Answered> {
    for (let tries = 1; ; tries += 1) {
      const base = this.#base;
      try {
        return await this.#sendTo(base, ask);
      } catch (cause) {
        this.#leave(base);
        const fault = lost(ask, base, cause);
        const isHarmless = fault instanceof StoreUnavailable;
        if (!isHarmless || ask.signal?.aborted === true || tries >= this.#bases.length) throw fault;
      }
    }
  }

  /** The time limit covers the whole answer: a coordinator can fall silent after its headers. */
  async #sendTo(base: string, ask: HttpAsk): Promise<Answered> {
    const { method, path, body, bytes, signal } = ask;
    const over = new AbortController();
    this.#underWay.set(over, base);
    const cancel = this.#timers.after(ask.timeoutMs ?? ASK_MS, () => {
      over.abort();
      if (ask.isPulse === true) this.#giveUp(base);
    });
    try {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: { ...this.#headers, ...typeOf(ask) },
        signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
        ...(bytes === undefined ? {} : { body: bytes }),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      } as RequestInit);
      return { response, content: await contentOf(response) };
    } finally {
      cancel();
      this.#underWay.delete(over);
    }
  }

  /** Once, however many fail there together. */
  #leave(base: string): void {
    if (this.#base === base) this.#current += 1;
  }

  /** P4: a host that has gone silent would keep everything waiting; the next one need not. */
  #giveUp(base: string): void {
    if (this.#bases.length === 1) return;
    for (const [over, asked] of [...this.#underWay]) if (asked === base) over.abort();
  }

  get #base(): string {
    return this.#bases[this.#current % this.#bases.length] ?? '';
  }
}

interface Answered {
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

function typeOf({ body, bytes }: HttpAsk): Readonly<Record<string, string>> {
  if (bytes !== undefined) return { 'content-type': 'application/octet-stream' };
  return body === undefined ? {} : { 'content-type': 'application/json' };
}

/** No answer came. Where nothing can have been sent, it is known that nothing was done. */
function lost({ isRead, path }: HttpAsk, base: string, cause: unknown): Fault {
  const message = noAnswerText(base, path, cause);
  return isRead === true || isUnsent(cause)
    ? new StoreUnavailable(message, { cause })
    : new OutcomeUnknown(message, { cause });
}

function faultFrom(ask: HttpAsk, response: Response, content: unknown): Fault {
  const told = content as { code?: string; detail?: string };
  const { code = `http-${response.status}`, detail = response.statusText } = told;
  return faultOf(code, `${ask.method} ${ask.path}: ${detail}`, response.status);
}
