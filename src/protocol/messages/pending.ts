// Sent messages without a reply, by the ids of their envelopes. Replies come in any order, twice,
// or not at all.

import { type Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import type { Timers } from '../../support/timer.ts';
import { REPLY_TIMEOUT_MS, type ReplyEnvelope } from './envelope.ts';

/** A message that waits for its reply. */
export interface AwaitedMessage {
  readonly kind: string;
  /** True if repeating it is harmless. Default false. */
  readonly isRead?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default 15,000. */
  readonly timeoutMs?: number | undefined;
}

interface Waiting {
  settle(reply: ReplyEnvelope): void;
  lose(why: string, cause?: unknown): void;
}

export class Pending {
  readonly #timers: Timers;
  readonly #waiting: Map<string, Waiting> = new Map();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Sends the message and waits for its reply, as long as the caller does. */
  wait(message: AwaitedMessage, id: string, send: () => void): Promise<ReplyEnvelope> {
    return new Promise((resolve, reject) => {
      const { signal, timeoutMs = REPLY_TIMEOUT_MS } = message;
      const done = (): void => {
        this.#waiting.delete(id);
        cancel();
        signal?.removeEventListener('abort', stop);
      };
      const lose = (why: string, cause?: unknown): void => {
        done();
        reject(lost(message, why, cause));
      };
      const stop = (): void => lose('the caller stopped waiting', signal?.reason);
      const cancel = this.#timers.after(timeoutMs, () => lose(`no reply within ${timeoutMs} ms`));
      signal?.addEventListener('abort', stop, { once: true });
      const settle = (reply: ReplyEnvelope): void => {
        done();
        resolve(reply);
      };
      this.#waiting.set(id, { settle, lose });
      try {
        send();
      } catch (cause) {
        done();
        reject(cause);
      }
    });
  }

  /** A reply without a waiting caller is ignored. */
  settle(reply: ReplyEnvelope): void {
    this.#waiting.get(reply.id)?.settle(reply);
  }

  lose(id: string, why: string, cause?: unknown): void {
    this.#waiting.get(id)?.lose(why, cause);
  }

  loseAll(why: string, cause?: unknown): void {
    for (const each of [...this.#waiting.values()]) each.lose(why, cause);
  }
}

/** A read without a reply is safe to repeat. For any other message, the outcome is unknown. */
export function lost({ kind, isRead }: AwaitedMessage, why: string, cause?: unknown): Fault {
  const message = `The message ${kind} got no reply: ${why}.`;
  return isRead === true
    ? new StoreUnavailable(message, { cause })
    : new OutcomeUnknown(message, { cause });
}
