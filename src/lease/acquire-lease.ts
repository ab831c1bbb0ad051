// Acquire, as a user has it: fail-fast by default, waiting on request, safe when answers get lost.

import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions, shown, wholeNumber } from '../support/options.ts';
import { jittered } from '../support/random.ts';
import { elapsedMs, type Moment, momentOf } from './authority.ts';
import type { HeldLease } from './held-lease.ts';
import { LeaseHandle } from './lease-handle.ts';
import { lookUp } from './look-up.ts';
import { type AttemptId, type LeaseKey, parseAttemptId, parseLeaseKey } from './names.ts';
import type { Acquire, AcquireAnswer } from './port.ts';
import type { EntryRefusal, SessionRefusal } from './refusal.ts';
import type { SessionCore } from './session-core.ts';
import { isUnanswered, type Unanswered } from './store-call.ts';

export interface AcquireOptions {
  /** Join the queue and wait; `timeoutMs` bounds it. Default: answer at once. */
  readonly wait?: boolean;
  readonly timeoutMs?: number;
  /** Gives up waiting, and the place in the queue. */
  readonly signal?: AbortSignal;
  /** How often a waiter asks without a hint, at least. Default 500; 5000 where hints reach everybody. */
  readonly pollMs?: number;
  /** Take a retired key again. */
  readonly reopen?: boolean;
  /** Go back to the checkpoint before the last. */
  readonly fromCheckpointBefore?: boolean;
  /** Ends the tenure after this long, however often the session renews. */
  readonly tenureMsMax?: number;
  /** A grant that comes with less authority than this is given back. Default ttl / 10. */
  readonly authorityMsMin?: number;
}

export type AcquireOutcome =
  | { readonly kind: 'acquired'; readonly lease: HeldLease }
  | ({ readonly kind: 'refused' } & (EntryRefusal | SessionRefusal))
  /** It was granted with too little time left to be of use, and was given back. */
  | { readonly kind: 'granted-too-late' }
  | { readonly kind: 'timed-out'; readonly refusal?: EntryRefusal }
  | { readonly kind: 'cancelled' }
  | Unanswered;

export const ACQUIRE_OPTION_NAMES: readonly (keyof AcquireOptions)[] = [
  'wait',
  'timeoutMs',
  'signal',
  'pollMs',
  'reopen',
  'fromCheckpointBefore',
  'tenureMsMax',
  'authorityMsMin',
];

const POLL_MS_DEFAULT = 500;
/** Where hints reach everybody, the poll is for hints that got lost and for holders that died. */
const POLL_MS_HINTED = 5_000;
const RETRY_MS = 50;
/** Without a time limit of the caller's: how long an unanswered acquire is asked again. */
const UNANSWERED_MS_MAX = 5_000;
const DAY_MS = 86_400_000;

interface Wanted {
  readonly key: string;
  readonly options: AcquireOptions;
  /** The session is over. */
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
  core.disowned.ask(started.request);
  try {
    return await askUntilDecided(core, started);
  } catch (fault) {
    // It is not known what the store did: a place in line may be left, or a grant.
    core.disowned.watch(started.request, momentOf(core.config.clock));
    core.disowned.givenUp(started.request);
    throw fault;
  }
}

async function askUntilDecided(core: SessionCore, started: Attempt): Promise<AcquireOutcome> {
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
    const answer = await core.call<AcquireAnswer>('acquire', {
      key,
      call: () => core.leases.acquire(started.request),
    });
    if (answer.kind === 'granted') return takeGrant(core, started, { answer, sentAt, notices });
    if (answer.kind === 'refused') {
      if (answer.why !== 'session-lapsed' || options.wait !== true) {
        if (refusal !== undefined) return giveUp(core, started, answer);
        core.disowned.givenUp(started.request);
        return answer;
      }
      // Waiting goes on through a lapse: the keeper is rejoining, and the place in the queue is kept.
      await core.config.timers.pause(jittered(core.config.random, RETRY_MS, 0.5), cancelled);
      continue;
    }
    if (isUnanswered(answer)) {
      // Whatever this try still does, now or after the term it may have got has ended, is looked after.
      core.disowned.watch(started.request, sentAt);
      if (isOverdue(core, started)) return giveUp(core, started, answer);
      await core.config.timers.pause(jittered(core.config.random, RETRY_MS, 0.5), cancelled);
      continue;
    }
    refusal = answer.refusal;
    await untilWorthAsking(core, started, refusal);
  }
}

/** a lease that is nearly over when it arrives is not handed out. */
async function takeGrant(
  core: SessionCore,
  attempt: Attempt,
  granted: {
    readonly answer: Extract<AcquireAnswer, { kind: 'granted' }>;
    readonly sentAt: Moment;
    readonly notices: number;
  },
): Promise<AcquireOutcome> {
  const handle = new LeaseHandle(core, granted.answer, granted.sentAt);
  core.carry(handle);
  core.disowned.taken(attempt.request, handle.fence);
  // A notice that was looked at while the answer was on its way may have been about this lease.
  const isKnown = core.notices === granted.notices || (await lookUp(core, [handle]));
  const least = attempt.options.authorityMsMin ?? Math.floor(core.config.ttlMs / 10);
  if (isKnown && handle.remainingMs() >= least && !attempt.cancelled.aborted) {
    return { kind: 'acquired', lease: handle };
  }
  // Whatever is left: also a grant that met a lapse is carried by the session until it is given back.
  await handle.release('abandoned', { cause: 'granted too late' });
  return attempt.cancelled.aborted ? { kind: 'cancelled' } : { kind: 'granted-too-late' };
}

/** Hints shorten the wait; the jittered poll is what can be relied on. */
async function untilWorthAsking(
  core: SessionCore,
  attempt: Attempt,
  refusal: EntryRefusal,
): Promise<void> {
  const { timers, random, store } = core.config;
  const hinted = new AbortController();
  const unhint = store.onHint((key) => {
    if (key === attempt.request.key) hinted.abort();
  });
  // Asking is also what keeps the place in the line.
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
  // P4: the key is free for whoever is ahead. Soon it is held, and only then is it known for how long.
  if (refusal.why === 'behind-others') return POLL_MS_DEFAULT;
  return refusal.why === 'reserved' ? refusal.freeInMs + 1 : Number.POSITIVE_INFINITY;
}

/**
 * Leaves nothing behind: the place in the queue is given up, and when it is unknown whether the key
 * was granted, the attempt is disowned: whatever it got, or gets later, is given back (U-1).
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
  if (isUnanswered(withdrawn)) core.disowned.watch(attempt.request, momentOf(core.config.clock));
  core.disowned.givenUp(attempt.request);
  if (isUnanswered(outcome)) await core.disowned.settle(core);
  return outcome;
}

function timeLeftMs(core: SessionCore, attempt: Attempt): number {
  const waits = attempt.options.wait === true;
  const limit = attempt.options.timeoutMs ?? (waits ? Number.POSITIVE_INFINITY : UNANSWERED_MS_MAX);
  return limit - elapsedMs(attempt.startedAt, momentOf(core.config.clock));
}

function isOverdue(core: SessionCore, attempt: Attempt): boolean {
  return timeLeftMs(core, attempt) <= 0;
}

function requestOf(
  core: SessionCore,
  wanted: {
    readonly key: LeaseKey;
    readonly attempt: AttemptId;
    readonly options: AcquireOptions;
  },
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
      'timeoutMs bounds a wait: give wait: true too. Without it acquire answers at once.',
    );
  }
  for (const name of ['wait', 'reopen', 'fromCheckpointBefore'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'boolean') {
      throw new InvalidInput(
        `${name} must be true or false; got ${shown(options[name])}. To bound a wait, give timeoutMs too.`,
      );
    }
  }
  for (const name of ['timeoutMs', 'pollMs', 'tenureMsMax', 'authorityMsMin'] as const) {
    const value = options[name];
    if (value !== undefined) {
      wholeNumber(name, value, { min: name === 'pollMs' ? 10 : 0, max: 365 * DAY_MS });
    }
  }
  return parseLeaseKey(wanted.key);
}
