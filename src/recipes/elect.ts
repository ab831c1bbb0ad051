// Leader election. Candidates wait in a queue, and the first one leads. The recipe awaits the
// leader's work before it gives up the lead. If the leader dies, the next one leads within the ttl.
// A candidate that loses its session opens another and joins the queue again, until you stop it.

import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { parseLeaseKey } from '../lease/names.ts';
import { callSafely, causeOf } from '../lease/observer.ts';
import { isOutage } from '../lease/store-call.ts';
import { integerOption, optionalFunctions, rejectUnknownOptions } from '../support/options.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers, whenAborted } from '../support/timer.ts';
import {
  checkTerm,
  exitOf,
  runTerm,
  TERM_OPTION_NAMES,
  type Term,
  type TermOptions,
} from './run-term.ts';
import {
  Backoff,
  isFatal,
  STANDING_OPTION_NAMES,
  type StandingOptions,
  StandingSession,
} from './standing-session.ts';

/** Options of `elect`. The options of a session apply to the candidate's sessions. */
export interface ElectOptions extends StandingOptions, Omit<TermOptions, 'clock' | 'timers'> {
  /** The name of the election. All candidates use the same. */
  readonly name: string;
  /**
   * Milliseconds to wait after leading or after a refusal, so that others go first. Up to an hour;
   * default 1,000.
   */
  readonly retryMs?: number;
  /** Called when the state changes. */
  readonly onState?: (state: ElectionState) => void;
  /**
   * Called with errors that the work throws, and with faults of the store that are not outages.
   *
   * The candidate joins the queue again, unless that cannot help: then its state is `failed`.
   */
  readonly onError?: (error: unknown) => void;
}

/**
 * The state of a candidate.
 *
 * - `standby`: it waits for the lead.
 * - `leading`: it leads.
 * - `stopped`: `stop` was called.
 * - `failed`: it does not join the queue again; `onError` got the reason.
 */
export type ElectionState = 'standby' | 'leading' | 'stopped' | 'failed';

/**
 * A running candidate.
 *
 * @example
 * const election = elect({ store, owner: 'scheduler@host-3', name: 'scheduler' }, async ({ signal }) => {
 *   while (!signal.aborted) await poll(signal);
 * });
 * process.once('SIGTERM', () => void election.stop());
 */
export interface Election {
  /** The state. */
  readonly state: ElectionState;
  /** The lease of the lead, while this candidate leads. */
  readonly lease: HeldLease | undefined;
  /** Stops the work, waits for it and gives up the lead. Never rejects. */
  stop(): Promise<void>;
}

const RETRY_MS_DEFAULT = 1_000;

/**
 * The result of one try to lead: normal, with a fault, for good, or with work that does not stop.
 */
type Round = 'over' | 'faulty' | 'fatal' | 'still-running';

/**
 * Elects one leader among processes and runs `work` in it.
 *
 * Candidates queue for the lead. When the leader stops or dies, the next one leads within the ttl.
 * Stop the work when `term.signal` aborts. Throws `InvalidInput` for invalid options; other errors
 * go to `onError`.
 *
 * @example
 * const election = elect({ store, owner: 'scheduler@host-3', name: 'scheduler' }, async ({ lease, signal }) => {
 *   while (!signal.aborted) {
 *     lease.assertHeld(1_000);
 *     await poll(signal);
 *   }
 * });
 */
export function elect(options: ElectOptions, work: (term: Term) => Promise<void>): Election {
  rejectUnknownOptions('elect', options, NAMES);
  checkTerm('elect', options, work);
  const { onState, onError, open, retryMs = RETRY_MS_DEFAULT } = options;
  optionalFunctions('elect', { onState, onError, open });
  integerOption('retryMs', retryMs, { min: 0, max: 3_600_000 });
  return new Candidate(options, work);
}

const NAMES: readonly (keyof ElectOptions)[] = [
  'name',
  'retryMs',
  'onState',
  'onError',
  ...TERM_OPTION_NAMES,
  ...STANDING_OPTION_NAMES,
];

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
    this.#standing = new StandingSession('elect', session, (fault) => this.#fault(fault));
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

  /** Never rejects, because no code awaits it before `stop`. */
  async #run(): Promise<void> {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    const { signal } = this.#stop;
    const backoff = new Backoff(this.#options);
    let round: Round = 'over';
    while (!signal.aborted && (round === 'over' || round === 'faulty')) {
      round = await this.#round();
      if (round === 'faulty') await backoff.pause(signal);
      if (round !== 'over') continue;
      backoff.reset();
      const pauseMs = jittered(random, this.#options.retryMs ?? RETRY_MS_DEFAULT, 0.5);
      await timers.pause(pauseMs, signal);
    }
    // Work that did not stop may still act. Its lease must expire by itself, not pass to another
    // candidate (L-7).
    if (round === 'still-running') await this.#standing.orphan();
    else await this.#standing.close('yielded');
    this.#become(round === 'fatal' ? 'failed' : 'stopped');
  }

  async #round(): Promise<Round> {
    try {
      const session = await this.#standing.current(this.#stop.signal);
      return session === undefined ? 'over' : await this.#stand(session);
    } catch (fault) {
      this.#lease = undefined;
      this.#become('standby');
      if (isFatal(fault) || !isOutage(fault)) this.#fault(fault);
      if (isFatal(fault)) return 'fatal';
      // The session may still have a place in the queue or a grant. The next session starts with
      // nothing.
      await this.#standing.close('abandoned');
      return 'faulty';
    }
  }

  /** Waits for the lead and leads once. */
  async #stand(session: Session): Promise<Round> {
    const { signal } = this.#stop;
    const got = await session.acquire(this.#options.name, { wait: true, signal });
    if (got.kind !== 'acquired') return 'over';
    this.#lease = got.lease;
    this.#become('leading');
    const trouble = (error: unknown): void => session.reportTrouble(causeOf(error));
    const options = { ...this.#options, stop: signal, trouble };
    const outcome = await runTerm(got.lease, this.#work, options);
    this.#lease = undefined;
    if (outcome.kind === 'threw') this.#fault(outcome.error);
    if (outcome.kind === 'still-running') {
      // A candidate that joins the queue while its old work runs could lead twice at once.
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
    this.#call(() => this.#options.onState?.(state));
  }

  #fault(fault: unknown): void {
    this.#call(() => this.#options.onError?.(fault));
  }

  #call(callback: () => void): void {
    callSafely(callback, (error) => this.#standing.present?.reportTrouble(causeOf(error)));
  }
}
