// Requests to a coordinator over HTTP. Each has a time limit; what fails becomes one of the faults that stores throw, so
// that whoever calls treats a coordinator that is away like a store that is away.

import { ASK_MS } from '../protocol/messages/carrier.ts';
import { faultOf } from '../protocol/messages/fault-of.ts';
import { type Fault, OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import { isUnsent, noAnswerText } from '../support/no-answer.ts';
import type { Timers } from '../support/timer.ts';

export interface LinkOptions {
  /** Of one coordinator or of several on the same store, such as http://127.0.0.1:7433. */
  readonly url: string | readonly string[];
  readonly key?: string;
  /** For keys of all projects. */
  readonly project?: string;
  readonly timers: Timers;
}

export interface HttpAsk {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Repeating it, or its having been done unseen, harms nobody. */
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
  /** What waits for an answer, and from where. */
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

  /** Undefined where there is nothing to say; bytes where that is what came. */
  async send<Answer>(ask: HttpAsk): Promise<Answer> {
    const response = await this.#send(ask);
    if (!response.ok) throw await faultFrom(ask, response);
    if (response.status === 204) return undefined as Answer;
    const isBytes = response.headers.get('content-type') === 'application/octet-stream';
    if (!isBytes) return this.#read(ask, () => response.json()) as Promise<Answer>;
    return new Uint8Array(await this.#read(ask, () => response.arrayBuffer())) as Answer;
  }

  /** Where it is known that nothing was sent, the next one is asked; else the next request goes there. */
  async #send(ask: HttpAsk): Promise<Response> {
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

  async #sendTo(base: string, ask: HttpAsk): Promise<Response> {
    const { method, path, body, bytes, signal } = ask;
    const over = new AbortController();
    this.#underWay.set(over, base);
    const cancel = this.#timers.after(ask.timeoutMs ?? ASK_MS, () => {
      over.abort();
      if (ask.isPulse === true) this.#giveUp(base);
    });
    try {
      return await fetch(`${base}${path}`, {
        method,
        headers: { ...this.#headers, ...typeOf(ask) },
        signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
        ...(bytes === undefined ? {} : { body: bytes }),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      } as RequestInit);
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

  async #read<Content>(ask: HttpAsk, content: () => Promise<Content>): Promise<Content> {
    try {
      return await content();
    } catch (cause) {
      const fault = lost(ask, this.#base, cause);
      this.#current += 1;
      throw fault;
    }
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

async function faultFrom(ask: HttpAsk, response: Response): Promise<Fault> {
  const told = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
  const { code = `http-${response.status}`, detail = response.statusText } = told;
  return faultOf(code, `${ask.method} ${ask.path}: ${detail}`, response.status);
}
