// Shares a set of keys among the processes that work on it: one holder per key, and shares that
// differ by at most one. Members do not steal keys. A member with too many stops some work at a
// safe point and releases those keys. A member with too few takes free keys. Few keys move at a
// time, and other members take over a dead member's keys within the ttl.

import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { NAME_BYTES_MAX, parseLeaseKey } from '../lease/names.ts';
import { callSafely, causeOf } from '../lease/observer.ts';
import type { LeaseService, ListedLease } from '../lease/port.ts';
import { POOL_METADATA } from '../lease/session.ts';
import { requireStore, TTL_MS_DEFAULT } from '../lease/session-options.ts';
import { isOutage } from '../lease/store-call.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalFunctions,
  rejectUnknownOptions,
  shown,
} from '../support/options.ts';
import { jittered, systemRandom } from '../support/random.ts';
import { systemTimers, whenAborted } from '../support/timer.ts';
import { Leftovers, rotated, shareOf } from './pool-balance.ts';
import { sessionsWith } from './registry.ts';
import {
  checkTerm,
  exitOf,
  runTerm,
  TERM_OPTION_NAMES,
  type Term,
  type TermOptions,
} from './run-term.ts';
import {
  isFatal,
  STANDING_OPTION_NAMES,
  type StandingOptions,
  StandingSession,
} from './standing-session.ts';

/**
 * The state of a pool's member.
 *
 * - `running`: it takes keys.
 * - `stopped`: `stop` was called.
 * - `failed`: it takes no more keys; `onError` got the reason.
 */
export type PoolState = 'running' | 'stopped' | 'failed';

/** The key to work on, its lease and its signal. */
export interface PoolTerm extends Term {
  /** The key as given in `keys`, in Unicode form NFC. */
  readonly key: string;
}

/**
 * A member of a pool.
 *
 * @example
 * const shards = pool({ store, owner: 'worker@host-3', name: 'shards', keys: ['a', 'b', 'c'] }, async ({ key, signal }) => {
 *   while (!signal.aborted) await poll(signal, key);
 * });
 * console.log(shards.held);
 * await shards.stop();
 */
export interface Pool {
  /** The state. */
  readonly state: PoolState;
  /** The keys that this member works on now. */
  readonly held: readonly string[];
  /** Keys that were retired because of a permanent error, by any member. */
  readonly dropped: readonly string[];
  /** Replaces the keys. Missing ones are stopped and given up; new ones are taken. */
  setKeys(keys: readonly string[]): void;
  /** Compares members and shares now. Rejects if the store cannot be reached. */
  balance(): Promise<void>;
  /** Stops all work, waits for it and gives up all keys. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Distributes keys evenly over the processes that join, one holder per key, and runs `work` for
 * each key.
 *
 * A member with too many keys stops the work of some and gives them up. The keys of a dead member
 * are taken over within the ttl. Throws `InvalidInput` for invalid options; other errors go to
 * `onError`.
 *
 * @example
 * const shards = pool({ store, owner: 'worker@host-3', name: 'shards', keys: ['a', 'b', 'c'] }, async ({ key, signal }) => {
 *   while (!signal.aborted) await poll(signal, key);
 * });
 */
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
/** The delay after a member's expected expiry before the next check, which is jittered. */
const EXPIRY_DELAY_MS = 50;

class Member implements Pool {
  readonly #options: PoolOptions;
  readonly #work: (term: PoolTerm) => Promise<void>;
  readonly #standing: StandingSession;
  readonly #stop: AbortController = new AbortController();
  readonly #running: Map<string, Running> = new Map();
  readonly #dropped: Set<string> = new Set();
  /** Keys that failed here, each with a function that cancels its pause. */
  readonly #resting: Map<string, () => void> = new Map();
  /** Keys whose work was asked to stop and has not. */
  readonly #stuck: Set<string> = new Set();
  readonly #leftovers: Leftovers;
  readonly #everyMs: number;
  readonly #name: string;
  readonly #loop: Promise<void>;
  #keys: readonly string[];
  #state: PoolState = 'running';
  #balancing: Promise<void> | undefined;
  #balanceInMs = Number.POSITIVE_INFINITY;

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
    const onFault = (fault: unknown): void => this.#fault(undefined, fault);
    this.#standing = new StandingSession('pool', { ...session, metadata }, onFault);
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

  /** Never rejects. If the store is unavailable now, the next round tries again. */
  async #run(): Promise<void> {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    while (!this.#stop.signal.aborted && this.#state === 'running') {
      try {
        await this.balance();
      } catch (fault) {
        if (!isOutage(fault)) this.#fault(undefined, fault);
        if (isFatal(fault)) this.#state = 'failed';
      }
      const pauseMs = Math.min(jittered(random, this.#everyMs, 0.2), this.#balanceInMs);
      if (this.#state === 'running') await timers.pause(pauseMs, this.#stop.signal);
    }
  }

  async #balance(): Promise<void> {
    this.#balanceInMs = Number.POSITIVE_INFINITY;
    const session = await this.#standing.current(this.#stop.signal);
    if (session === undefined) return;
    const ids = await this.#members(session);
    const states = await keyStates(this.#options.store, this.#name);
    for (const [key, { state }] of states) if (state === 'retired') this.#dropped.add(key);
    const wanted = this.#keys.filter((key) => !this.#dropped.has(key));
    for (const [key, { stop }] of this.#running) if (!wanted.includes(key)) stop.abort();
    const start = Math.floor((ids.indexOf(session.id) * wanted.length) / ids.length);
    const free = rotated(wanted, start).filter((key) => isTakeable(states.get(key)));
    this.#leftovers.update(free.map((key) => ({ key, exit: states.get(key)?.exit })));
    this.#balanceInMs = Math.min(this.#balanceInMs, this.#leftovers.dueInMs());
    const share = shareOf(session.id, ids, wanted.length);
    const surplus = this.#running.size - share - this.#leftovers.extra(this.held);
    if (surplus > 0) this.#giveUp(surplus);
    else await this.#take(session, free, share);
  }

  /**
   * Lists the members that share the keys. An overdue member does not count: its end may not be
   * recorded yet. If it counted, members with a full share would never touch its keys, which is
   * what records its end.
   */
  async #members(session: Session): Promise<readonly string[]> {
    const { store, random = systemRandom } = this.#options;
    const listed = await sessionsWith(store, { name: POOL_METADATA, value: this.#name });
    const members = listed.filter(({ state }) => state === 'alive' || state === 'lapsed');
    const others = members.filter((member) => member.session.id !== session.id);
    const expiresInMs = Math.min(...others.map(({ remainingMs }) => remainingMs));
    this.#balanceInMs = expiresInMs + jittered(random, EXPIRY_DELAY_MS, 0.5);
    return members.map((member) => member.session.id);
  }

  /** Releases the keys taken last, because they have done the least work. */
  #giveUp(surplus: number): void {
    const going = [...this.#running.values()].filter(({ stop }) => stop.signal.aborted).length;
    const moves = Math.min(surplus, this.#options.movesMax ?? 1) - going;
    const last = [...this.#running.values()].filter(({ stop }) => !stop.signal.aborted).reverse();
    for (const { stop } of last.slice(0, Math.max(0, moves))) stop.abort();
  }

  /** Takes keys up to the share, and beyond it those that no other member takes. */
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
    // The pool may have been stopped while this key was being acquired.
    const stopped = AbortSignal.any([stop.signal, this.#stop.signal]);
    const done = this.#workOn(key, lease, stopped)
      .catch((fault: unknown) => this.#fault(undefined, fault))
      .finally(() => this.#running.delete(key));
    this.#running.set(key, { lease, stop, done });
  }

  async #workOn(key: string, lease: HeldLease, stop: AbortSignal): Promise<void> {
    const options = { ...this.#options, stop, trouble: this.#trouble };
    const outcome = await runTerm(lease, (term) => this.#work({ ...term, key }), options);
    if (outcome.kind === 'still-running') {
      // The key must not pass on while its work runs. If the pool stops first, the lease expires by
      // itself.
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

  /** Leaves a key that failed to other members first. */
  #rest(key: string): void {
    const { timers = systemTimers, random = systemRandom } = this.#options;
    const rested = timers.after(jittered(random, RETRY_FAILED_MS, 0.5), () => {
      this.#resting.delete(key);
    });
    this.#resting.set(key, rested);
  }
}

// The options for joining a pool, and their validation.

/** Options of `pool`. The options of a session apply to the member's sessions. */
export interface PoolOptions extends StandingOptions, Omit<TermOptions, 'clock' | 'timers'> {
  /** The name of the pool, at most 256 bytes. All members use the same. */
  readonly name: string;
  /** The keys to distribute. */
  readonly keys: readonly string[];
  /** Milliseconds between comparisons of members and shares, up to an hour. Default ttl / 3. */
  readonly balanceMs?: number;
  /** How many keys a member gives up at a time, up to 10,000. Default 1. */
  readonly movesMax?: number;
  /**
   * Returns true if an error means that the key can never be worked on. The key is then retired for
   * all members.
   */
  readonly isPermanent?: (error: unknown) => boolean;
  /**
   * Called with the key and the error of its work, or without a key for faults of the store that
   * are not outages.
   *
   * The pool continues, unless that cannot help: then its state is `failed`.
   */
  readonly onError?: (key: string | undefined, error: unknown) => void;
}

const NAMES: readonly (keyof PoolOptions)[] = [
  'name',
  'keys',
  'balanceMs',
  'movesMax',
  'isPermanent',
  'onError',
  ...TERM_OPTION_NAMES,
  ...STANDING_OPTION_NAMES,
];

function checkPoolOptions(options: PoolOptions): void {
  rejectUnknownOptions('pool', options, NAMES);
  const { name, balanceMs = 1, movesMax = 1, isPermanent, onError, open } = options;
  boundedText('pool: name', name, NAME_BYTES_MAX);
  integerOption('balanceMs', balanceMs, { min: 1, max: 3_600_000 });
  integerOption('movesMax', movesMax, { min: 1, max: 10_000 });
  optionalFunctions('pool', { isPermanent, onError, open });
  requireStore('pool', options.store);
}

// The keys of a pool in the store. One read lists all of them, so members need not try each key to
// find out that it is taken, and all learn of retired keys.

const PAGE = 500;

function leaseKeyOf(pool: string, key: string): string {
  return `${pool}/${key}`;
}

/** Returns states by the user's own key. A key that was never held is missing. */
async function keyStates(
  store: LeaseService,
  pool: string,
): Promise<ReadonlyMap<string, ListedLease>> {
  const prefix = leaseKeyOf(pool, '');
  const states = new Map<string, ListedLease>();
  let after: ListedLease['key'] | undefined;
  for (;;) {
    const from = after === undefined ? {} : { after };
    const page = await store.leases.list({ prefix, limit: PAGE, ...from });
    for (const lease of page) states.set(lease.key.slice(prefix.length), lease);
    after = page.at(-1)?.key;
    if (page.length < PAGE) return states;
  }
}

/** Returns true if an acquire is worthwhile. An acquire also ends an `expired` term. */
function isTakeable(lease: ListedLease | undefined): boolean {
  return lease === undefined || lease.state === 'free' || lease.state === 'expired';
}

function listOf(what: string, keys: unknown): readonly string[] {
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return keys;
  throw new InvalidInput(`${what}: keys must be a list of strings; got ${shown(keys)}.`);
}

/** Returns each key once, in the store's spelling: texts that are one key there are one here. */
function normalKeys(pool: string, keys: readonly string[]): readonly string[] {
  const prefix = leaseKeyOf(pool, '');
  const stored = keys.map((key) => parseLeaseKey(leaseKeyOf(pool, key)));
  return [...new Set(stored)].map((key) => key.slice(prefix.length));
}
