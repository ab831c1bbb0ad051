// A session that is opened again whenever it was lost: what long-running recipes stand on.

import type { DeclaredExit } from '../lease/exit.ts';
import { openSession, type Session } from '../lease/live-session.ts';
import { resolveSessionOptions, type SessionOptions } from '../lease/session-options.ts';
import { StoreUnavailable } from '../support/fault.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 5_000;

export class StandingSession {
  readonly #options: SessionOptions;
  #session: Session | undefined;
  #opening: Promise<Session | undefined> | undefined;

  /** Options that cannot be meant are refused here and now, not in the background later. */
  constructor(options: SessionOptions) {
    resolveSessionOptions(options);
    this.#options = options;
  }

  /** The session there is, without opening one. */
  get present(): Session | undefined {
    return this.#session?.signal.aborted === true ? undefined : this.#session;
  }

  /** A live session; waits for the store to come back if need be. Undefined when `stop` aborts. */
  current(stop: AbortSignal): Promise<Session | undefined> {
    const { present } = this;
    if (present !== undefined) return Promise.resolve(present);
    this.#opening ??= this.#open(stop).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async close(exit: DeclaredExit): Promise<void> {
    await this.#opening;
    await this.#session?.close(exit);
  }

  async orphan(): Promise<void> {
    await this.#opening;
    await this.#session?.orphan();
  }

  async #open(stop: AbortSignal): Promise<Session | undefined> {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    for (let backoffMs = BACKOFF_MS_MIN; !stop.aborted; backoffMs *= 2) {
      try {
        this.#session = await openSession(this.#options);
        return this.#session;
      } catch (fault) {
        if (!(fault instanceof StoreUnavailable)) throw fault;
        await timers.pause(jittered(random, Math.min(backoffMs, BACKOFF_MS_MAX), 0.5), stop);
      }
    }
    return undefined;
  }
}
