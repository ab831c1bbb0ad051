// A session that reopens after a loss, for long-running recipes.

import type { DeclaredExit } from '../lease/exit.ts';
import { openSession, type Session, SessionRefused } from '../lease/live-session.ts';
import {
  resolveSessionOptions,
  SESSION_OPTION_NAMES,
  type SessionOptions,
} from '../lease/session-options.ts';
import { isOutage } from '../lease/store-call.ts';
import { InvalidInput } from '../support/fault.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';

/** Options of a session that is opened again whenever it is lost. */
export interface StandingOptions extends SessionOptions {
  /** Opens the sessions, such as `openWatchdogSession`. Default `openSession`. */
  readonly open?: (options: SessionOptions) => Promise<Session>;
}

export const STANDING_OPTION_NAMES: readonly (keyof StandingOptions)[] = [
  'open',
  ...SESSION_OPTION_NAMES,
];

const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX = 5_000;

/** Returns true if trying again cannot help. */
export function isFatal(fault: unknown): boolean {
  return fault instanceof InvalidInput || fault instanceof SessionRefused;
}

/** Waits longer each time, until `reset`. */
export class Backoff {
  readonly #options: SessionOptions;
  #nextMs = BACKOFF_MS_MIN;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  async pause(stop: AbortSignal): Promise<void> {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(2 * pauseMs, BACKOFF_MS_MAX);
    await timers.pause(jittered(random, pauseMs, 0.5), stop);
  }

  reset(): void {
    this.#nextMs = BACKOFF_MS_MIN;
  }
}

export class StandingSession {
  readonly #options: SessionOptions;
  readonly #open: (options: SessionOptions) => Promise<Session>;
  readonly #trouble: (fault: unknown) => void;
  #session: Session | undefined;
  #opening: Promise<Session | undefined> | undefined;

  /**
   * Throws for invalid options at once, not later in the background. `trouble` receives every fault
   * that is not an outage; the session is then tried again. `what` is the recipe.
   */
  constructor(what: string, options: StandingOptions, trouble: (fault: unknown) => void) {
    const { open = openSession, ...session } = options;
    resolveSessionOptions(session, what);
    this.#options = session;
    this.#open = open;
    this.#trouble = trouble;
  }

  /** The current session, without opening one. */
  get present(): Session | undefined {
    return this.#session?.signal.aborted === true ? undefined : this.#session;
  }

  /**
   * Returns a live session, and waits for the store if necessary. Undefined if `stop` aborts.
   * Rejects only with faults that trying again cannot help.
   */
  current(stop: AbortSignal): Promise<Session | undefined> {
    const { present } = this;
    if (present !== undefined) return Promise.resolve(present);
    this.#opening ??= this.#openAgain(stop).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Ends the current session. If that fails, it is not renewed any more and expires by itself. */
  async close(exit: DeclaredExit): Promise<void> {
    await this.#end((session) => session.close(exit));
  }

  async orphan(): Promise<void> {
    await this.#end((session) => session.orphan());
  }

  async #end(how: (session: Session) => Promise<unknown>): Promise<void> {
    try {
      await this.#opening;
      if (this.#session !== undefined) await how(this.#session);
    } catch (fault) {
      if (!isFatal(fault)) this.#trouble(fault);
    }
  }

  async #openAgain(stop: AbortSignal): Promise<Session | undefined> {
    const backoff = new Backoff(this.#options);
    while (!stop.aborted) {
      try {
        this.#session = await this.#open(this.#options);
        return this.#session;
      } catch (fault) {
        if (isFatal(fault)) throw fault;
        if (!isOutage(fault)) this.#trouble(fault);
        await backoff.pause(stop);
      }
    }
    return undefined;
  }
}
