// Sent messages without a reply, by the ids of their envelopes. Replies come in any order, twice,
// or not at all.

import {
  REPLY_TIMEOUT_MS,
  type ReplyEnvelope,
  resultIn,
  type TransportRequest,
} from '../protocol/messages/envelope.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { type Fault, OutcomeUnknown, StoreUnavailable } from '../support/fault.ts';
import type { Timers } from '../support/timer.ts';

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

  /** Sends the message and waits for its reply, as long as the caller does. */
  wait<Result>(message: TransportRequest, id: string, send: () => void): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
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
        try {
          resolve(resultIn<Result>(message, reply));
        } catch (fault) {
          reject(fault);
        }
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
export function lost({ kind }: TransportRequest, why: string, cause?: unknown): Fault {
  const message = `The message ${kind} got no reply: ${why}.`;
  const isRead = workMessage(kind).isRead === true;
  return isRead ? new StoreUnavailable(message, { cause }) : new OutcomeUnknown(message, { cause });
}
