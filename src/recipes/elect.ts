// elect: leader election. Candidates stand in line; the first leads, its work is awaited before the
// lead is given up, and when it dies the next one leads within the ttl. A candidate that loses its
// session opens another and stands again, until it is stopped.

import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { parseLeaseKey } from '../lease/names.ts';
import type { SessionOptions } from '../lease/session-options.ts';
import { whenAborted } from '../support/abort.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { exitOf, runTerm, type Term, type TermOptions } from './run-term.ts';
import { StandingSession } from './standing-session.ts';

export interface ElectOptions extends SessionOptions, Omit<TermOptions, 'clock' | 'timers'> {
  /** What is led: all candidates of one election use the same name. */
  readonly name: string;
  /** After leading, or after a refusal: how long to let others go first. Default 1000. */
  readonly retryMs?: number;
  readonly onState?: (state: ElectionState) => void;
  /** Told what the work threw; the lead was then given up as failed and this candidate stands again. */
  readonly onError?: (error: unknown) => void;
}

export type ElectionState = 'standby' | 'leading' | 'stopped';

export interface Election {
  readonly state: ElectionState;
  /** The lease of the lead, while this candidate leads. */
  readonly lease: HeldLease | undefined;
  /** Stops the work, waits for it, gives up the lead. */
  stop(): Promise<void>;
}

const RETRY_MS_DEFAULT = 1_000;

export function elect(options: ElectOptions, work: (term: Term) => Promise<void>): Election {
  const candidate = new Candidate(options, work);
  return candidate;
}

class Candidate implements Election {
  readonly #options: ElectOptions;
  readonly #work: (term: Term) => Promise<void>;
  readonly #standing: StandingSession;
  readonly #stop: AbortController = new AbortController();
  readonly #running: Promise<void>;
  #state: ElectionState = 'standby';
  #lease: HeldLease | undefined;

  constructor(options: ElectOptions, work: (term: Term) => Promise<void>) {
    const { name, retryMs, onState, onError, settleMs, exitOnOverrun, onOverrun, ...session } =
      options;
    parseLeaseKey(name);
    this.#options = options;
    this.#work = work;
    this.#standing = new StandingSession(session);
    this.#running = this.#run();
  }

  get state(): ElectionState {
    return this.#state;
  }

  get lease(): HeldLease | undefined {
    return this.#lease;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    const { signal } = this.#stop;
    let running = false;
    while (!signal.aborted && !running) {
      const session = await this.#standing.current(signal);
      if (session === undefined) break;
      running = (await this.#stand(session)) === 'still-running';
      const pauseMs = jittered(random, this.#options.retryMs ?? RETRY_MS_DEFAULT, 0.5);
      await timers.pause(pauseMs, signal);
    }
    // Work that did not stop may still act: its lease must expire by itself, not be handed on (L-7).
    if (running) await this.#standing.orphan();
    else await this.#standing.close('yielded');
    this.#become('stopped');
  }

  /** Waits for the lead and leads once. */
  async #stand(session: Session): Promise<'over' | 'still-running'> {
    const { signal } = this.#stop;
    const got = await session.acquire(this.#options.name, { wait: true, signal });
    if (got.kind !== 'acquired') return 'over';
    this.#lease = got.lease;
    this.#become('leading');
    const outcome = await runTerm(got.lease, this.#work, { ...this.#options, stop: signal });
    this.#lease = undefined;
    if (outcome.kind === 'threw') this.#options.onError?.(outcome.error);
    if (outcome.kind === 'still-running') {
      // Whoever stands again while its old work runs could lead twice at once.
      await Promise.race([outcome.over, whenAborted(signal)]);
      if (signal.aborted) return 'still-running';
    }
    const { exit, cause } = exitOf(
      got.lease,
      outcome,
      signal.aborted || got.lease.drain !== undefined,
    );
    await got.lease.release(exit, cause === undefined ? {} : { cause });
    this.#become('standby');
    return 'over';
  }

  #become(state: ElectionState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState?.(state);
  }
}
