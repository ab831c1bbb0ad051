// A semaphore with weights. Each permit is a lease of its own. One more lease, the queue, admits
// one caller at a time, first come first served. Only that caller takes permits. So callers that
// need several cannot block each other, and a large one is not overtaken by small ones.

import type { AcquireOutcome } from '../lease/acquire-lease.ts';
import { elapsedMs, momentOf } from '../lease/authority.ts';
import type { Fence } from '../lease/fence.ts';
import type { HeldLease } from '../lease/held-lease.ts';
import type { Session } from '../lease/live-session.ts';
import { parseLeaseKey } from '../lease/names.ts';
import { systemClock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';
import { checkTerm, TERM_OPTION_NAMES, type TermOptions } from './run-term.ts';
import { requireSession, runHeld, type WithLeaseOutcome } from './with-lease.ts';

/** Options of `withPermits`. */
export interface PermitsOptions extends TermOptions {
  /** An open session. */
  readonly session: Session;
  /** The name of the semaphore. All callers use the same. */
  readonly name: string;
  /** How many permits the semaphore has, 1 to 100. All callers pass the same number. */
  readonly permits: number;
  /** How many permits this caller needs, at most `permits`. Default 1. */
  readonly weight?: number;
  /** Milliseconds to wait, at most one year. By default it waits for as long as it takes. */
  readonly timeoutMs?: number;
  /** Stops the wait and leaves the queue when it aborts. */
  readonly signal?: AbortSignal;
}

/** The permits and the signal that work gets. */
export interface PermitsTerm {
  /** One lease for each permit. */
  readonly permits: readonly HeldLease[];
  /** The greatest fence of the permits. */
  readonly fence: Fence;
  /** Aborts when the work should stop: authority ended, or an operator drains a permit. */
  readonly signal: AbortSignal;
  /** Throws `LeaseNotHeld` unless every permit lasts `marginMs` more milliseconds. Synchronous. */
  assertHeld(marginMs: number): void;
}

const PERMITS_MAX = 100;
const YEAR_MS = 31_536_000_000;

/**
 * Waits for permits of a semaphore, runs `work` and gives the permits back.
 *
 * Callers get permits in the order in which they asked. Permits of a process that died are free
 * again after its ttl. Returns outcomes as `withLease` does, and throws the error of the work.
 * Throws `InvalidInput` for invalid options, and if others use another number of permits.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using session = await openSession({ store, owner: 'encoder@host-3' });
 * const options = { session, name: 'encoders', permits: 8, weight: 2 };
 * const outcome = await withPermits(options, async ({ signal }) => poll(signal));
 * if (outcome.kind !== 'done') console.error(outcome.kind);
 */
export async function withPermits<Value>(
  options: PermitsOptions,
  work: (term: PermitsTerm) => Promise<Value>,
): Promise<WithLeaseOutcome<Value>> {
  rejectUnknownOptions('withPermits', options, NAMES);
  const wanted = checkedPermits('withPermits', options);
  checkTerm('withPermits', options, work);
  const got = await takePermits(options, wanted);
  if (got.kind !== 'taken') return got;
  const { session } = options;
  const [first, ...others] = got.permits;
  if (first === undefined) throw new InvalidInput('withPermits: weight must be at least 1.');
  const permits = [first, ...others] as const;
  const fence = Math.max(...permits.map((permit) => permit.fence)) as Fence;
  const assertHeld = (marginMs: number): void => {
    for (const permit of permits) permit.assertHeld(marginMs);
  };
  const run = (signal: AbortSignal): Promise<Value> => work({ permits, fence, signal, assertHeld });
  return runHeld({ session, leases: permits }, run, options);
}

const NAMES: readonly (keyof PermitsOptions)[] = [
  ...(['session', 'name', 'permits', 'weight', 'timeoutMs', 'signal', 'clock', 'timers'] as const),
  ...TERM_OPTION_NAMES,
];

interface Wanted {
  readonly total: number;
  readonly weight: number;
}

function checkedPermits(what: string, options: PermitsOptions): Wanted {
  requireSession(what, options.session);
  parseLeaseKey(permitKey(options.name, PERMITS_MAX));
  const total = integerOption('permits', options.permits, { min: 1, max: PERMITS_MAX });
  const weight = integerOption('weight', options.weight ?? 1, { min: 1, max: total });
  const { timeoutMs = 0 } = options;
  integerOption('timeoutMs', timeoutMs, { min: 0, max: YEAR_MS });
  return { total, weight };
}

function permitKey(name: string, number: number): string {
  return `${name}/permit-${number}`;
}

type Taken =
  | { readonly kind: 'taken'; readonly permits: readonly HeldLease[] }
  | Exclude<AcquireOutcome, { readonly kind: 'acquired' }>;

async function takePermits(options: PermitsOptions, wanted: Wanted): Promise<Taken> {
  const { session, name, clock = systemClock, timeoutMs, signal } = options;
  const since = momentOf(clock);
  const wait = () => ({
    wait: true,
    ...(signal && { signal }),
    ...(timeoutMs !== undefined && {
      timeoutMs: Math.max(0, Math.floor(timeoutMs - elapsedMs(since, momentOf(clock)))),
    }),
  });
  const entered = await session.acquire(`${name}/queue`, wait());
  if (entered.kind !== 'acquired') return entered;
  const queue = entered.lease;
  const permits: HeldLease[] = [];
  let taken: Taken | undefined;
  try {
    await agreeOnTotal(queue, name, wanted.total);
    taken = await fill(permits, { options, wanted, queue, wait });
    return taken;
  } finally {
    if (taken?.kind !== 'taken') await giveBack(permits);
    await queue.release('finished');
  }
}

/** With two totals, more callers would run at once than either of them allows. */
async function agreeOnTotal(queue: HeldLease, name: string, total: number): Promise<void> {
  const { restored } = queue;
  if (restored === undefined) {
    await queue.checkpoint(String(total), { type: 'holdfast.permits' });
    return;
  }
  const stored = Buffer.from(restored.bytes).toString();
  if (stored === String(total)) return;
  throw new InvalidInput(
    `Semaphore "${name}" has ${stored} permits, and this caller passes ${total}. Nothing was acquired. Pass the same number everywhere, or use another name.`,
  );
}

interface Filling {
  readonly options: PermitsOptions;
  readonly wanted: Wanted;
  readonly queue: HeldLease;
  readonly wait: () => { readonly wait: boolean; readonly timeoutMs?: number };
}

/** First takes the free permits, then waits for all others at once until it has enough. */
async function fill(permits: HeldLease[], filling: Filling): Promise<Taken> {
  const { options, wanted, queue, wait } = filling;
  const { session, name } = options;
  const missing: string[] = [];
  for (let number = 1; number <= wanted.total && permits.length < wanted.weight; number += 1) {
    const key = permitKey(name, number);
    const got = await session.acquire(key);
    if (got.kind === 'acquired') permits.push(got.lease);
    else if (got.kind === 'refused') missing.push(key);
    else return got;
  }
  if (permits.length === wanted.weight) return { kind: 'taken', permits };
  const enough = new AbortController();
  const ends = [enough.signal, queue.signal, ...(options.signal ? [options.signal] : [])];
  const signal = AbortSignal.any(ends);
  const outcomes = await Promise.all(
    missing.map(async (key) => {
      const got = await session.acquire(key, { ...wait(), signal });
      if (got.kind === 'acquired' && permits.length < wanted.weight) permits.push(got.lease);
      else if (got.kind === 'acquired') await got.lease.release('yielded');
      if (permits.length === wanted.weight) enough.abort();
      return got;
    }),
  );
  if (permits.length === wanted.weight) return { kind: 'taken', permits };
  const failed = outcomes.filter((outcome) => outcome.kind !== 'acquired');
  return failed.find(({ kind }) => kind !== 'cancelled') ?? failed[0] ?? { kind: 'cancelled' };
}

async function giveBack(permits: readonly HeldLease[]): Promise<void> {
  await Promise.all(permits.map((permit) => permit.release('yielded')));
}

// A read-write lock is a semaphore in which a reader takes one permit and a writer all of them.

/** Options of `withReadLock` and `withWriteLock`. */
export interface ReadWriteOptions extends Omit<PermitsOptions, 'permits' | 'weight'> {
  /** How many readers may read at once, 1 to 100. All callers pass the same. Default 16. */
  readonly readersMax?: number;
}

const READERS_MAX = 16;

/**
 * Runs `work` as one of several readers, while no writer has the lock.
 *
 * A waiting writer goes before readers that ask after it. Returns and throws as `withPermits` does.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using session = await openSession({ store, owner: 'search@host-3' });
 * await withReadLock({ session, name: 'index' }, async ({ signal }) => poll(signal));
 */
export function withReadLock<Value>(
  options: ReadWriteOptions,
  work: (term: PermitsTerm) => Promise<Value>,
): Promise<WithLeaseOutcome<Value>> {
  const { readersMax = READERS_MAX, ...rest } = options;
  return withPermits({ ...rest, permits: readersMax, weight: 1 }, work);
}

/**
 * Runs `work` as the only writer, while there is no reader.
 *
 * The fence of a writer is greater than those of all writers before it, so guards can order their
 * writes. Returns and throws as `withPermits` does.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using session = await openSession({ store, owner: 'indexer@host-3' });
 * await withWriteLock({ session, name: 'index' }, async ({ fence }) => console.log(fence));
 */
export function withWriteLock<Value>(
  options: ReadWriteOptions,
  work: (term: PermitsTerm) => Promise<Value>,
): Promise<WithLeaseOutcome<Value>> {
  const { readersMax = READERS_MAX, ...rest } = options;
  return withPermits({ ...rest, permits: readersMax, weight: readersMax }, work);
}
