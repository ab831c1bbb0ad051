// pool: a set of keys shared out over the processes that work on it, one holder per key, shares equal
// within one. Nobody steals: who has too many stops the work of some, at a safe point, and gives them
// up; who has too few takes what is free. Few keys move at a time, and a dead member's keys are taken
// over within the ttl.

import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { callSafely, causeOf } from '../lease/observer.ts';
import { TTL_MS_DEFAULT } from '../lease/session-options.ts';
import { isOutage } from '../lease/store-call.ts';
import { whenAborted } from '../support/abort.ts';
import { systemClock } from '../support/clock.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { POOL_METADATA, sessionsWith } from './members.ts';
import { Leftovers, rotated, shareOf } from './pool-balance.ts';
import { isTakeable, keyStates, leaseKeyOf, listOf, normalKeys } from './pool-keys.ts';
import { checkPoolOptions, type PoolOptions } from './pool-options.ts';
import { checkTerm, exitOf, runTerm, type Term } from './run-term.ts';
import { isHopeless, StandingSession } from './standing-session.ts';

/** `failed`: it takes no more keys, for a reason that `onError` was told. */
export type PoolState = 'running' | 'stopped' | 'failed';

export interface PoolTerm extends Term {
  /** As given in `keys`, in Unicode's composed form. */
  readonly key: string;
}

export interface Pool {
  readonly state: PoolState;
  /** The keys this member works on now. */
  readonly held: readonly string[];
  /** Keys that a permanent error took out of the pool, here or at another member. */
  readonly dropped: readonly string[];
  /** Other keys from now on: new ones are taken, missing ones are stopped and given up. */
  setKeys(keys: readonly string[]): void;
  /** One look at members and shares now. */
  balance(): Promise<void>;
  /** Stops all work, waits for it, gives everything up. Never rejects. */
  stop(): Promise<void>;
}

export function pool(options: PoolOptions, work: (term: PoolTerm) => Promise<void>): Pool {
  checkPoolOptions(options);
  checkTerm('pool', options, work);
  return new Member(options, work);
}

interface Running {
  readonly lease: HeldLease;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

const RETRY_FAILED_MS = 1_000;
/** After a member should have expired: no sooner than this, and spread out. */
const EXPIRY_LOOK_MS = 50;

class Member implements Pool {
  readonly #options: PoolOptions;
  readonly #work: (term: PoolTerm) => Promise<void>;
  readonly #standing: StandingSession;
  readonly #stop: AbortController = new AbortController();
  readonly #running: Map<string, Running> = new Map();
  readonly #dropped: Set<string> = new Set();
  /** Keys that failed here, and how to forget that. */
  readonly #resting: Map<string, () => void> = new Map();
  /** Keys whose work was told to stop and has not. */
  readonly #stuck: Set<string> = new Set();
  readonly #leftovers: Leftovers;
  readonly #everyMs: number;
  readonly #name: string;
  readonly #loop: Promise<void>;
  #keys: readonly string[];
  #state: PoolState = 'running';
  #balancing: Promise<void> | undefined;
  #lookInMs = Number.POSITIVE_INFINITY;

  constructor(options: PoolOptions, work: (term: PoolTerm) => Promise<void>) {
    this.#options = options;
    this.#work = work;
    this.#name = options.name.normalize();
    this.#keys = normalKeys(this.#name, listOf('pool', options.keys));
    const { name, keys, balanceMs, movesMax, isPermanent, onError, ...rest } = options;
    const { settleMs, exitOnOverrun, onOverrun, ...session } = rest;
    const { ttlMs = TTL_MS_DEFAULT, clock = systemClock, store } = session;
    this.#everyMs = balanceMs ?? Math.floor(ttlMs / 3);
    const metadata = { ...session.metadata, [POOL_METADATA]: this.#name };
    const told = (fault: unknown): void => this.#fault(undefined, fault);
    this.#standing = new StandingSession('pool', { ...session, metadata }, told);
    this.#leftovers = new Leftovers(clock, this.#everyMs, store.policy.flapUnitMs);
    this.#loop = this.#run();
  }

  get state(): PoolState {
    return this.#state;
  }

  get held(): readonly string[] {
    return [...this.#running.keys()].sort();
  }

  get dropped(): readonly string[] {
    return [...this.#dropped].sort();
  }

  setKeys(keys: readonly string[]): void {
    this.#keys = normalKeys(this.#name, listOf('setKeys', keys));
  }

  balance(): Promise<void> {
    this.#balancing ??= this.#balance().finally(() => {
      this.#balancing = undefined;
    });
    return this.#balancing;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    for (const forget of this.#resting.values()) forget();
    await this.#loop;
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    if (this.#stuck.size > 0) await this.#standing.orphan();
    else await this.#standing.close('yielded');
    if (this.#state === 'running') this.#state = 'stopped';
  }

  /** Never rejects. A store that cannot be reached now is asked again at the next look. */
  async #run(): Promise<void> {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    while (!this.#stop.signal.aborted && this.#state === 'running') {
      try {
        await this.balance();
      } catch (fault) {
        if (!isOutage(fault)) this.#fault(undefined, fault);
        if (isHopeless(fault)) this.#state = 'failed';
      }
      const pauseMs = Math.min(jittered(random, this.#everyMs, 0.2), this.#lookInMs);
      if (this.#state === 'running') await timers.pause(pauseMs, this.#stop.signal);
    }
  }

  async #balance(): Promise<void> {
    this.#lookInMs = Number.POSITIVE_INFINITY;
    const session = await this.#standing.current(this.#stop.signal);
    if (session === undefined) return;
    const ids = await this.#members(session);
    const states = await keyStates(this.#options.store, this.#name);
    for (const [key, { state }] of states) if (state === 'retired') this.#dropped.add(key);
    const wanted = this.#keys.filter((key) => !this.#dropped.has(key));
    for (const [key, { stop }] of this.#running) if (!wanted.includes(key)) stop.abort();
    const start = Math.floor((ids.indexOf(session.id) * wanted.length) / ids.length);
    const free = rotated(wanted, start).filter((key) => isTakeable(states.get(key)));
    this.#leftovers.look(free.map((key) => ({ key, exit: states.get(key)?.exit })));
    this.#lookInMs = Math.min(this.#lookInMs, this.#leftovers.dueInMs());
    const share = shareOf(session.id, ids, wanted.length);
    const surplus = this.#running.size - share - this.#leftovers.extra(this.held);
    if (surplus > 0) this.#giveUp(surplus);
    else await this.#take(session, free, share);
  }

  /**
   * Who shares. A member that is overdue does not: nobody need have marked it as ended yet, and those
   * who have their share already would never touch its keys, which is how it gets marked.
   */
  async #members(session: Session): Promise<readonly string[]> {
    const { store, random = systemRandom } = this.#options;
    const listed = await sessionsWith(store, { name: POOL_METADATA, value: this.#name });
    const members = listed.filter(({ state }) => state === 'alive' || state === 'lapsed');
    const others = members.filter((member) => member.session.id !== session.id);
    const expiresInMs = Math.min(...others.map(({ remainingMs }) => remainingMs));
    this.#lookInMs = expiresInMs + jittered(random, EXPIRY_LOOK_MS, 0.5);
    return members.map((member) => member.session.id);
  }

  /** The last ones taken go first: they have done the least. */
  #giveUp(surplus: number): void {
    const going = [...this.#running.values()].filter(({ stop }) => stop.signal.aborted).length;
    const moves = Math.min(surplus, this.#options.movesMax ?? 1) - going;
    const last = [...this.#running.values()].filter(({ stop }) => !stop.signal.aborted).reverse();
    for (const { stop } of last.slice(0, Math.max(0, moves))) stop.abort();
  }

  /** Up to the share, and beyond it what nobody else takes. */
  async #take(session: Session, candidates: readonly string[], share: number): Promise<void> {
    for (const key of candidates) {
      if (this.#stop.signal.aborted) return;
      const isExtra = this.#running.size >= share;
      if (isExtra && !this.#leftovers.isLeft(key)) continue;
      if (this.#running.has(key) || this.#resting.has(key)) continue;
      const got = await session.acquire(leaseKeyOf(this.#name, key));
      if (got.kind === 'acquired') {
        if (isExtra) this.#leftovers.took(key);
        this.#start(key, got.lease);
      } else if (got.kind === 'refused' && got.why === 'retired') this.#dropped.add(key);
    }
  }

  #start(key: string, lease: HeldLease): void {
    const stop = new AbortController();
    // Also when the pool was stopped while this key was being acquired.
    const told = AbortSignal.any([stop.signal, this.#stop.signal]);
    const done = this.#workOn(key, lease, told)
      .catch((fault: unknown) => this.#fault(undefined, fault))
      .finally(() => this.#running.delete(key));
    this.#running.set(key, { lease, stop, done });
  }

  async #workOn(key: string, lease: HeldLease, stop: AbortSignal): Promise<void> {
    const options = { ...this.#options, stop, trouble: this.#trouble };
    const outcome = await runTerm(lease, (term) => this.#work({ ...term, key }), options);
    if (outcome.kind === 'still-running') {
      // Its key must not be handed on while it runs; if the pool stops first, it expires by itself.
      this.#stuck.add(key);
      const over = outcome.over.then(() => this.#stuck.delete(key));
      if (!(await Promise.race([over, whenAborted(this.#stop.signal)]))) return;
    }
    if (outcome.kind === 'threw') {
      const { error } = outcome;
      this.#fault(key, error);
      if (callSafely(() => this.#options.isPermanent?.(error), this.#trouble) === true) {
        this.#dropped.add(key);
        await lease.release('retired', { cause: causeOf(error) });
        return;
      }
      this.#rest(key);
    }
    const { exit, cause } = exitOf(lease, outcome, stop.aborted || lease.drain !== undefined);
    await lease.release(exit, cause === undefined ? {} : { cause });
  }

  #fault(key: string | undefined, error: unknown): void {
    callSafely(() => this.#options.onError?.(key, error), this.#trouble);
  }

  readonly #trouble = (error: unknown): void => {
    this.#standing.present?.reportTrouble(causeOf(error));
  };

  /** A key that failed is left to others first. */
  #rest(key: string): void {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    const rested = timers.after(jittered(random, RETRY_FAILED_MS, 0.5), () => {
      this.#resting.delete(key);
    });
    this.#resting.set(key, rested);
  }
}
