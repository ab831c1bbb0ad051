// pool: a set of keys shared out over the processes that work on it, one holder per key, shares equal
// within one. Nobody steals: who has too many stops the work of some, at a safe point, and gives them
// up; who has too few takes what is free. Few keys move at a time, and a dead member's keys are taken
// over within the ttl.

import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { parseLeaseKey } from '../lease/names.ts';
import type { SessionOptions } from '../lease/session-options.ts';
import { whenAborted } from '../support/abort.ts';
import { wholeNumber } from '../support/options.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { POOL_METADATA, sessionsWith } from './members.ts';
import { rotated, shareOf } from './pool-balance.ts';
import { isTakeable, keyStates, leaseKeyOf } from './pool-keys.ts';
import { causeOf, exitOf, runTerm, type Term, type TermOptions } from './run-term.ts';
import { StandingSession } from './standing-session.ts';

export interface PoolOptions extends SessionOptions, Omit<TermOptions, 'clock' | 'timers'> {
  /** All members of one pool use the same name. */
  readonly name: string;
  readonly keys: readonly string[];
  /**
   * How often to look at members and shares, at least; a member that is about to expire is looked at
   * when it does. Default a third of the ttl.
   */
  readonly balanceMs?: number;
  /** How many keys one member gives up at a time. Default 1. */
  readonly movesMax?: number;
  /** Whether an error means that the key can never be worked on. It is then retired, for all members. */
  readonly isPermanent?: (error: unknown) => boolean;
  readonly onError?: (key: string, error: unknown) => void;
}

export interface PoolTerm extends Term {
  /** As given in `keys`. */
  readonly key: string;
}

export interface Pool {
  /** The keys this member works on now. */
  readonly held: readonly string[];
  /** Keys that a permanent error took out of the pool, here or at another member. */
  readonly dropped: readonly string[];
  /** Other keys from now on: new ones are taken, missing ones are stopped and given up. */
  setKeys(keys: readonly string[]): void;
  /** One look at members and shares now. */
  balance(): Promise<void>;
  /** Stops all work, waits for it, gives everything up. */
  stop(): Promise<void>;
}

export function pool(options: PoolOptions, work: (term: PoolTerm) => Promise<void>): Pool {
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
  readonly #loop: Promise<void>;
  #keys: readonly string[];
  #balancing: Promise<void> | undefined;
  #lookInMs = Number.POSITIVE_INFINITY;

  constructor(options: PoolOptions, work: (term: PoolTerm) => Promise<void>) {
    this.#options = options;
    this.#work = work;
    this.#keys = checkedKeys(options, options.keys);
    wholeNumber('movesMax', options.movesMax ?? 1, { min: 1, max: 10_000 });
    const { name, keys, balanceMs, movesMax, isPermanent, onError, ...rest } = options;
    const { settleMs, exitOnOverrun, onOverrun, ...session } = rest;
    const metadata = { ...session.metadata, [POOL_METADATA]: name };
    this.#standing = new StandingSession({ ...session, metadata });
    this.#loop = this.#run();
  }

  get held(): readonly string[] {
    return [...this.#running.keys()].sort();
  }

  get dropped(): readonly string[] {
    return [...this.#dropped].sort();
  }

  setKeys(keys: readonly string[]): void {
    this.#keys = checkedKeys(this.#options, keys);
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
  }

  async #run(): Promise<void> {
    const { timers = systemTimers, random = systemRandom, ttlMs = 15_000 } = this.#options;
    const everyMs = this.#options.balanceMs ?? Math.floor(ttlMs / 3);
    while (!this.#stop.signal.aborted) {
      // A store that cannot be reached now is asked again at the next look.
      await this.balance().catch(() => undefined);
      const pauseMs = Math.min(jittered(random, everyMs, 0.2), this.#lookInMs);
      await timers.pause(pauseMs, this.#stop.signal);
    }
  }

  async #balance(): Promise<void> {
    this.#lookInMs = Number.POSITIVE_INFINITY;
    const session = await this.#standing.current(this.#stop.signal);
    if (session === undefined) return;
    const { store, name } = this.#options;
    const ids = await this.#members(session);
    const states = await keyStates(store, name);
    for (const [key, state] of states) if (state === 'retired') this.#dropped.add(key);
    const wanted = this.#keys.filter((key) => !this.#dropped.has(key));
    for (const [key, { stop }] of this.#running) if (!wanted.includes(key)) stop.abort();
    const share = shareOf(session.id, ids, wanted.length);
    if (this.#running.size > share) this.#giveUp(this.#running.size - share);
    else if (this.#running.size < share) {
      const start = Math.floor((ids.indexOf(session.id) * wanted.length) / ids.length);
      const free = rotated(wanted, start).filter((key) => isTakeable(states.get(key)));
      await this.#take(session, free, share);
    }
  }

  /**
   * Who shares. A member that is overdue does not: nobody need have marked it as ended yet, and those
   * who have their share already would never touch its keys, which is how it gets marked.
   */
  async #members(session: Session): Promise<readonly string[]> {
    const { store, name, random = systemRandom } = this.#options;
    const listed = await sessionsWith(store, { name: POOL_METADATA, value: name });
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

  async #take(session: Session, candidates: readonly string[], share: number): Promise<void> {
    for (const key of candidates) {
      if (this.#running.size >= share || this.#stop.signal.aborted) return;
      if (this.#running.has(key) || this.#resting.has(key)) continue;
      const got = await session.acquire(leaseKeyOf(this.#options.name, key));
      if (got.kind === 'acquired') this.#start(key, got.lease);
      else if (got.kind === 'refused' && got.why === 'retired') this.#dropped.add(key);
    }
  }

  #start(key: string, lease: HeldLease): void {
    const stop = new AbortController();
    // Also when the pool was stopped while this key was being acquired.
    const told = AbortSignal.any([stop.signal, this.#stop.signal]);
    const done = this.#workOn(key, lease, told).finally(() => this.#running.delete(key));
    this.#running.set(key, { lease, stop, done });
  }

  async #workOn(key: string, lease: HeldLease, stop: AbortSignal): Promise<void> {
    const options = { ...this.#options, stop };
    const outcome = await runTerm(lease, (term) => this.#work({ ...term, key }), options);
    if (outcome.kind === 'still-running') {
      // Its key must not be handed on while it runs; if the pool stops first, it expires by itself.
      this.#stuck.add(key);
      const over = outcome.over.then(() => this.#stuck.delete(key));
      if (!(await Promise.race([over, whenAborted(this.#stop.signal)]))) return;
    }
    if (outcome.kind === 'threw') {
      this.#options.onError?.(key, outcome.error);
      if (this.#options.isPermanent?.(outcome.error) === true) {
        this.#dropped.add(key);
        await lease.release('retired', { cause: causeOf(outcome.error) });
        return;
      }
      this.#rest(key);
    }
    const { exit, cause } = exitOf(lease, outcome, stop.aborted || lease.drain !== undefined);
    await lease.release(exit, cause === undefined ? {} : { cause });
  }

  /** A key that failed is left to others first. */
  #rest(key: string): void {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    const rested = timers.after(jittered(random, RETRY_FAILED_MS, 0.5), () => {
      this.#resting.delete(key);
    });
    this.#resting.set(key, rested);
  }
}

function checkedKeys(options: PoolOptions, keys: readonly string[]): readonly string[] {
  for (const key of keys) parseLeaseKey(leaseKeyOf(options.name, key));
  return [...new Set(keys)];
}
