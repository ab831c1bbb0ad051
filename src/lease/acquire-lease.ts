// Acquire for callers: it fails fast by default, waits on request, and stays safe when replies are
// lost.

import { InvalidInput } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions, shown, wordsIn } from '../support/options.ts';
import { jittered } from '../support/random.ts';
import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { HeldLease } from './held-lease.ts';
import { LeaseHandle } from './lease-handle.ts';
import { lookUp } from './look-up.ts';
import { type AttemptId, type LeaseKey, parseAttemptId, parseLeaseKey } from './names.ts';
import type { Acquire, AcquireResult } from './port.ts';
import type { EntryRefusal, SessionRefusal } from './refusal.ts';
import type { SessionCore } from './session-core.ts';
import { isStoreOutage, type StoreOutage } from './store-call.ts';

/** Options of `session.acquire`. */
export interface AcquireOptions {
  /** True: join the queue and wait for the key. Default false. */
  readonly wait?: boolean;
  /**
   * Milliseconds to wait, at most one year. Needs `wait: true`. By default it waits for as long as
   * it takes.
   */
  readonly timeoutMs?: number;
  /** Stops the wait and leaves the queue when it aborts. */
  readonly signal?: AbortSignal;
  /**
   * Milliseconds between polls while waiting, at least 10. Default 500, or 5,000 if the store
   * notifies all processes.
   */
  readonly pollMs?: number;
  /** True: acquire the key even if its work was retired. Default false. */
  readonly reopen?: boolean;
  /** True: restore the checkpoint before the last one. Default false. */
  readonly fromCheckpointBefore?: boolean;
  /**
   * Milliseconds after which the term ends, however often the session renews. By default there is
   * no limit.
   */
  readonly tenureMsMax?: number;
  /**
   * The least authority, in milliseconds, that a new grant must have; otherwise it is released.
   * Default ttl / 10.
   */
  readonly authorityMsMin?: number;
}

/**
 * The result of `session.acquire`.
 *
 * - `acquired`: `lease` is the handle.
 * - `refused`: the store refused; `why` is the reason, and `describeRefusal` explains it.
 * - `granted-too-late`: the grant arrived with too little time left and was released.
 * - `timed-out`: the wait took longer than `timeoutMs`; `refusal` is the last one.
 * - `cancelled`: the signal aborted or the session ended.
 * - `unknown`, `unavailable`: the store did not respond. The session releases a grant that it may
 *   have made.
 */
export type AcquireOutcome =
  | { readonly kind: 'acquired'; readonly lease: HeldLease }
  | ({ readonly kind: 'refused' } & (EntryRefusal | SessionRefusal))
  | { readonly kind: 'granted-too-late' }
  | { readonly kind: 'timed-out'; readonly refusal?: EntryRefusal }
  | { readonly kind: 'cancelled' }
  | StoreOutage;

export const ACQUIRE_OPTION_NAMES: readonly (keyof AcquireOptions)[] = wordsIn(
  'wait timeoutMs signal pollMs reopen fromCheckpointBefore tenureMsMax authorityMsMin',
);

const POLL_MS_DEFAULT = 500;
/** Where hints reach all processes, polls only cover lost hints and dead holders. */
const POLL_MS_HINTED = 5_000;
const RETRY_MS = 50;
/**
 * The longest time for which an acquire without a reply repeats, if the caller sets no time limit.
 */
const OUTAGE_MS_MAX = 5_000;
const DAY_MS = 86_400_000;

interface Wanted {
  readonly key: string;
  readonly options: AcquireOptions;
  /** Aborts when the session is over. */
  readonly over: AbortSignal;
}

interface Attempt {
  readonly request: Acquire;
  readonly options: AcquireOptions;
  readonly startedAt: Moment;
  readonly cancelled: AbortSignal;
}

export async function acquireLease(core: SessionCore, wanted: Wanted): Promise<AcquireOutcome> {
  const { options } = wanted;
  const key = checkOptions(wanted);
  const attempt = parseAttemptId(core.config.random.uuid());
  const cancelled =
    options.signal === undefined ? wanted.over : AbortSignal.any([wanted.over, options.signal]);
  const started: Attempt = {
    request: requestOf(core, { key, attempt, options }),
    options,
    startedAt: momentOf(core.config.clock),
    cancelled,
  };
  core.disowned.start(started.request);
  try {
    return await acquireUntilDecided(core, started);
  } catch (fault) {
    // The outcome is unknown: the store may have a ticket or a grant of this attempt.
    core.disowned.watch(started.request, momentOf(core.config.clock));
    core.disowned.givenUp(started.request);
    throw fault;
  }
}

async function acquireUntilDecided(core: SessionCore, started: Attempt): Promise<AcquireOutcome> {
  const { cancelled, options } = started;
  const { key } = started.request;
  let refusal: EntryRefusal | undefined;
  for (;;) {
    if (cancelled.aborted) return giveUp(core, started, { kind: 'cancelled' });
    if (refusal !== undefined && isOverdue(core, started)) {
      return giveUp(core, started, { kind: 'timed-out', refusal });
    }
    const sentAt = momentOf(core.config.clock);
    const { notices } = core;
    const result = await core.call<AcquireResult>('acquire', {
      key,
      call: () => core.leases.acquire(started.request),
    });
    if (result.kind === 'granted') return takeGrant(core, started, { result, sentAt, notices });
    if (result.kind === 'refused') {
      if (result.why !== 'session-lapsed' || options.wait !== true) {
        if (refusal !== undefined) return giveUp(core, started, result);
        core.disowned.givenUp(started.request);
        return result;
      }
      // Keep waiting through a lapse: the heartbeat loop is rejoining, and the ticket stays valid.
      await core.config.timers.pause(jittered(core.config.random, RETRY_MS, 0.5), cancelled);
      continue;
    }
    if (isStoreOutage(result)) {
      // Watch this try: it may still take effect, even after its own term has ended.
      core.disowned.watch(started.request, sentAt);
      if (isOverdue(core, started)) return giveUp(core, started, result);
      await core.config.timers.pause(jittered(core.config.random, RETRY_MS, 0.5), cancelled);
      continue;
    }
    refusal = result.refusal;
    await untilWorthRetrying(core, started, refusal);
  }
}

/** Does not return a lease that is nearly over when it arrives. */
async function takeGrant(
  core: SessionCore,
  attempt: Attempt,
  granted: {
    readonly result: Extract<AcquireResult, { kind: 'granted' }>;
    readonly sentAt: Moment;
    readonly notices: number;
  },
): Promise<AcquireOutcome> {
  const handle = new LeaseHandle(core, granted.result, granted.sentAt);
  core.carry(handle);
  core.disowned.taken(attempt.request, handle.fence);
  // A notice that was processed while the reply was on its way may concern this lease.
  const isKnown = core.notices === granted.notices || (await lookUp(core, [handle]));
  const least = attempt.options.authorityMsMin ?? Math.floor(core.config.ttlMs / 10);
  if (isKnown && handle.remainingMs() >= least && !attempt.cancelled.aborted) {
    return { kind: 'acquired', lease: handle };
  }
  // Give back the lease in any case: after a lapse, the session still carries it.
  await handle.release('abandoned', { cause: 'granted too late' });
  return attempt.cancelled.aborted ? { kind: 'cancelled' } : { kind: 'granted-too-late' };
}

/** Hints shorten the wait, but only the jittered poll is reliable. */
async function untilWorthRetrying(
  core: SessionCore,
  attempt: Attempt,
  refusal: EntryRefusal,
): Promise<void> {
  const { timers, random, store } = core.config;
  const hinted = new AbortController();
  const unhint = store.onHint((key) => {
    if (key === attempt.request.key) hinted.abort();
  });
  // Polling also keeps the ticket alive.
  const often = store.hintsReach === 'all-processes' ? POLL_MS_HINTED : POLL_MS_DEFAULT;
  const pollMs = Math.min(attempt.options.pollMs ?? often, store.policy.ticketMs / 3);
  const poll = jittered(random, pollMs, 0.25);
  const free = freeIn(refusal);
  const left = timeLeftMs(core, attempt);
  try {
    const signal = AbortSignal.any([hinted.signal, attempt.cancelled]);
    await timers.pause(Math.max(1, Math.min(poll, free, left)), signal);
  } finally {
    unhint();
  }
}

function freeIn(refusal: EntryRefusal): number {
  if (refusal.why === 'held' || refusal.why === 'reclaim-paused')
    return refusal.holder.freeInMs + 1;
  // The key is free for a waiter ahead. Once that one holds it, a refusal shows for how long (P4).
  if (refusal.why === 'behind-others') return POLL_MS_DEFAULT;
  return refusal.why === 'reserved' ? refusal.freeInMs + 1 : Number.POSITIVE_INFINITY;
}

/**
 * Leaves the queue. If the outcome of the attempt is unknown, it also disowns the attempt: the
 * client gives back whatever it got or gets later (U-1).
 */
async function giveUp(
  core: SessionCore,
  attempt: Attempt,
  outcome: AcquireOutcome,
): Promise<AcquireOutcome> {
  const { key, attempt: id } = attempt.request;
  const withdrawn = await core.call('withdraw', {
    key,
    call: () => core.leases.withdraw({ key, attempt: id }),
  });
  if (isStoreOutage(withdrawn)) core.disowned.watch(attempt.request, momentOf(core.config.clock));
  core.disowned.givenUp(attempt.request);
  if (isStoreOutage(outcome)) await core.disowned.settle(core);
  return outcome;
}

function timeLeftMs(core: SessionCore, attempt: Attempt): number {
  const waits = attempt.options.wait === true;
  const limit = attempt.options.timeoutMs ?? (waits ? Number.POSITIVE_INFINITY : OUTAGE_MS_MAX);
  return limit - elapsedMs(attempt.startedAt, momentOf(core.config.clock));
}

function isOverdue(core: SessionCore, attempt: Attempt): boolean {
  return timeLeftMs(core, attempt) <= 0;
}

function requestOf(
  core: SessionCore,
  wanted: { readonly key: LeaseKey; readonly attempt: AttemptId; readonly options: AcquireOptions },
): Acquire {
  const { key, attempt, options } = wanted;
  return {
    key,
    session: core.id,
    attempt,
    wait: options.wait === true,
    reopen: options.reopen === true,
    fromCheckpointBefore: options.fromCheckpointBefore === true,
    ...(options.tenureMsMax === undefined ? {} : { tenureMsMax: options.tenureMsMax }),
  };
}

function checkOptions(wanted: Wanted): LeaseKey {
  const { options } = wanted;
  rejectUnknownOptions('acquire', options, ACQUIRE_OPTION_NAMES);
  if (options.timeoutMs !== undefined && options.wait !== true) {
    throw new InvalidInput(
      'timeoutMs limits a wait, so it needs wait: true. Without wait, acquire returns at once.',
    );
  }
  for (const name of ['wait', 'reopen', 'fromCheckpointBefore'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'boolean') {
      throw new InvalidInput(
        `${name} must be true or false; got ${shown(options[name])}. To limit a wait, pass timeoutMs too.`,
      );
    }
  }
  for (const name of ['timeoutMs', 'pollMs', 'tenureMsMax', 'authorityMsMin'] as const) {
    const value = options[name];
    if (value !== undefined) {
      integerOption(name, value, { min: name === 'pollMs' ? 10 : 0, max: 365 * DAY_MS });
    }
  }
  return parseLeaseKey(wanted.key);
}
