// The state that a session and its leases share: calls to the store with time limits and reports,
// the session's authority, and the list of handles. It has no loop of its own.

import { type Instant, toInstant } from '../support/clock.ts';
import { EventLoopLag } from '../support/event-loop-lag.ts';
import { Fault } from '../support/fault.ts';
import { wordsIn } from '../support/options.ts';
import { jittered } from '../support/random.ts';
import { type Authority, elapsedMs, type Moment, momentOf } from './authority.ts';
import { Disowned, isFinal } from './disowned.ts';
import type { Fence } from './fence.ts';
import type { NotHeld } from './held-lease.ts';
import type { LeaseHandle } from './lease-handle.ts';
import type { LeaseKey, SessionId } from './names.ts';
import type { LeaseNotHeld, WithdrawnBy } from './not-held.ts';
import {
  causeOf,
  type GrantReport,
  type LeaseOperation,
  ObserverRelay,
  type OutcomeClass,
  type SavedCheckpoint,
} from './observer.ts';
import type {
  AcquireResult,
  LeaseStore,
  Released,
  ReleaseLease,
  SessionEnded,
  SessionHost,
} from './port.ts';
import type { SessionRefusal } from './refusal.ts';
import type { SessionConfig } from './session-options.ts';
import {
  callStore,
  isSealed,
  isStoreOutage,
  type StoreOutage,
  type StoreSealed,
} from './store-call.ts';

export interface StoreCall<Result> {
  readonly call: () => Promise<Result>;
  readonly key?: LeaseKey;
  readonly fence?: Fence;
  readonly bytes?: number;
  /** For a heartbeat: the number of this try. */
  readonly attempt?: number;
  /** For a checkpoint: the data that it saves. */
  readonly saves?: { readonly seq: number; readonly digest: string };
}

/** Often enough for a ttl, and rare enough to cost nothing. */
const LAG_SAMPLES_PER_TTL = 50;
const LAG_SAMPLE_MS = { min: 20, max: 1_000 } as const;

/** A try counts as unknown after half of the remaining time, but never sooner than this. */
const TRY_MS_MIN = 25;
const RETRY_MS = 50;
/** The longest time for which a release repeats before its outcome counts as unknown. */
const RELEASE_MS_MAX = 5_000;

const AGAIN = 'This session acquired the key again.';

export class SessionCore {
  readonly id: SessionId;
  readonly config: SessionConfig;
  readonly handles: Map<LeaseKey, LeaseHandle> = new Map();
  readonly relay: ObserverRelay;
  readonly lag: EventLoopLag;
  readonly disowned: Disowned = new Disowned();
  /** The parent session in this process, if any, and the child sessions. */
  readonly above: SessionCore | undefined;
  readonly below: Set<SessionCore> = new Set();
  /** The last notice of the store that was processed. */
  notices = 0;
  /**
   * The session's authority from the last reply. Absent before the first reply and after the end.
   */
  authority: Authority | undefined;
  /** How it ended, once it has. */
  over: { readonly by: WithdrawnBy; readonly detail: string } | undefined;
  /** Authority that another thread has obtained and not delivered to this one yet. */
  undelivered: () => number = () => 0;
  /** Called when any reply shows that the session is over for good. */
  lost: (why: SessionRefusal | StoreSealed) => void = () => undefined;
  /** Called when an ancestor is over, which also ends this session (H-1). */
  endedAbove: (detail: string) => void = () => undefined;
  /** Called when the authority of an ancestor has lapsed or come back (H-2). */
  changedAbove: () => void = () => undefined;
  /** The store's reply to closing this session, once it is being closed. */
  closing: Promise<SessionEnded | StoreOutage> | undefined;
  #waiting: (() => void)[] = [];
  /** Keys that are being acquired with the checkpoint before the last (K-5), for the report. */
  readonly #goingBack: string[] = [];
  /** When each key was granted or last saved, for the report of its next checkpoint. */
  readonly #savedAt: Map<LeaseKey, Moment> = new Map();

  constructor(id: SessionId, config: SessionConfig, above?: SessionCore) {
    this.id = id;
    this.config = config;
    this.above = above;
    const { observer, clock, timers, ttlMs } = config;
    this.relay = new ObserverRelay(observer, clock, timers);
    const sampleMs = Math.min(
      Math.max(ttlMs / LAG_SAMPLES_PER_TTL, LAG_SAMPLE_MS.min),
      LAG_SAMPLE_MS.max,
    );
    this.lag = new EventLoopLag(clock, timers, sampleMs);
  }

  get sessions(): SessionHost['sessions'] {
    return this.config.store.sessions;
  }

  get leases(): LeaseStore {
    const { leases } = this.config.store;
    if (leases === undefined) {
      throw new Fault(
        'no-leases',
        'This session belongs to a remote worker, which cannot acquire leases. Nothing was granted. Open a session of your own on a store: openSession({ store, owner }).',
      );
    }
    return leases;
  }

  /** A session never has authority for longer than its ancestors (H-2). */
  remainingMs(): number {
    return Math.min(this.ownRemainingMs(), this.above?.remainingMs() ?? Number.POSITIVE_INFINITY);
  }

  ownRemainingMs(): number {
    if (this.authority === undefined) return 0;
    return Math.max(this.authority.remainingMs(), this.undelivered());
  }

  /** The end that was sent for this session or its nearest ancestor. */
  get ending(): Promise<SessionEnded | StoreOutage> | undefined {
    return this.closing ?? this.above?.ending;
  }

  /** The holder's view of the time, for display only. Nothing is compared with it (C-1). */
  storeTime(): Instant {
    return toInstant(this.config.clock.wallMs());
  }

  /** A newer term of a key proves that the older one is over, even if no notice has come yet (T-2). */
  carry(handle: LeaseHandle): void {
    const { key, fence } = handle;
    const other = this.handles.get(key);
    const [older, newer] = other && other.fence > fence ? [handle, other] : [other, handle];
    this.handles.set(key, newer);
    if (older !== undefined && older.fence < newer.fence) older.withdraw('lost', AGAIN);
  }

  drop(handle: LeaseHandle): void {
    if (this.handles.get(handle.key) !== handle) return;
    this.handles.delete(handle.key);
    this.#savedAt.delete(handle.key);
  }

  /** Resolves when the session has authority again, or can never have it again. */
  aliveAgain(): Promise<void> {
    if (this.authority === undefined || this.remainingMs() > 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  settleWaiting(): void {
    if (this.authority !== undefined && this.remainingMs() <= 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Releases a term. If that fails now, the heartbeat loop does it later (U-1). */
  async giveBack(
    request: ReleaseLease,
    lapsed: LeaseNotHeld | undefined,
  ): Promise<Released | NotHeld | StoreOutage> {
    const { key, fence } = request;
    if (lapsed !== undefined && this.remainingMs() <= 0) {
      this.disowned.addTerm(request);
      return { kind: 'not-held', reason: lapsed };
    }
    const result = await this.retry<Released>('release', {
      key,
      fence,
      withinMs: RELEASE_MS_MAX,
      call: () => this.leases.release(request),
    }).catch((fault: unknown) => {
      // In any case, no other session gets the key until this term is released.
      this.disowned.addTerm(request);
      throw fault;
    });
    if (isStoreOutage(result) || !isFinal(result)) this.disowned.addTerm(request);
    else this.disowned.ended(fence);
    return result;
  }

  /** Reports an unexpected failure. Nothing ends because of it. */
  trouble(cause: string): void {
    this.relay.report({ kind: 'troubled', session: this.id, leases: this.handles.size, cause });
  }

  /** Makes one call with a time limit and a report. */
  async call<Result extends { readonly kind: string }>(
    operation: LeaseOperation,
    request: StoreCall<Result>,
  ): Promise<Result | StoreOutage> {
    const { clock, timers, ttlMs } = this.config;
    const sentAt = momentOf(clock);
    const remainingAtSendMs = this.remainingMs();
    const base = remainingAtSendMs > 0 ? remainingAtSendMs : ttlMs;
    const result = await callStore(request.call, Math.max(TRY_MS_MIN, base / 2), timers).catch(
      (fault: unknown) => {
        this.trouble(`${operation}: ${causeOf(fault)}`);
        if (isSealed(fault)) this.lost(fault);
        throw fault;
      },
    );
    this.#report(operation, request, { result, sentAt, remainingAtSendMs });
    if (endsSession(result)) this.lost(result);
    return result;
  }

  /** Reports a grant of this key, while this runs, as one that went back. */
  async whileGoingBack<Outcome>(key: string, acquire: () => Promise<Outcome>): Promise<Outcome> {
    const named = String(key).normalize();
    this.#goingBack.push(named);
    try {
      return await acquire();
    } finally {
      this.#goingBack.splice(this.#goingBack.indexOf(named), 1);
    }
  }

  #report<Result extends { readonly kind: string }>(
    operation: LeaseOperation,
    request: StoreCall<Result>,
    done: {
      readonly result: Result | StoreOutage;
      readonly sentAt: Moment;
      readonly remainingAtSendMs: number;
    },
  ): void {
    if (this.relay.idle) return;
    const { result, sentAt, remainingAtSendMs } = done;
    const outcome = outcomeClass(result);
    const granted = isGrant(result) ? result : undefined;
    if (granted !== undefined) this.#savedAt.set(granted.key, sentAt);
    const { lagMs, suspendedMs } = this.lag.take();
    const fence = granted?.fence ?? request.fence;
    const saved = this.#saved(request, outcome === 'ok' ? sentAt : undefined);
    this.relay.report({
      kind: 'operation',
      operation,
      outcome,
      latencyMs: elapsedMs(sentAt, momentOf(this.config.clock)),
      remainingAtSendMs,
      remainingAtReplyMs: this.remainingMs(),
      session: this.id,
      loopLagMs: lagMs,
      suspendedMs,
      ...(request.attempt === undefined ? {} : { attempt: request.attempt }),
      ...(request.key === undefined ? {} : { key: request.key }),
      ...(fence === undefined ? {} : { fence }),
      ...(request.bytes === undefined ? {} : { bytes: request.bytes }),
      ...(isStoreOutage(result) ? { cause: result.fault.message } : {}),
      ...(saved === undefined ? {} : { saved }),
      ...(granted === undefined ? {} : { granted: this.#grantReport(granted) }),
    });
  }

  #grantReport({ key, predecessor, checkpoint }: Granted): GrantReport {
    const { exit, fence } = predecessor;
    const restored = checkpoint && {
      seq: checkpoint.seq,
      digest: checkpoint.digest,
      fence: checkpoint.fence,
    };
    return {
      predecessor: { exit, ...(fence === undefined ? {} : { fence }) },
      ...(this.#goingBack.includes(key) ? { wentBack: true } : {}),
      ...(restored === undefined ? {} : { restored }),
    };
  }

  #saved(request: StoreCall<unknown>, savedAt: Moment | undefined): SavedCheckpoint | undefined {
    const { saves, key } = request;
    if (saves === undefined || key === undefined) return undefined;
    const last = this.#savedAt.get(key);
    const now = savedAt ?? momentOf(this.config.clock);
    // Keep nothing for a key that was released while this call was under way.
    if (savedAt !== undefined && this.handles.has(key)) this.#savedAt.set(key, savedAt);
    return { ...saves, ...(last === undefined ? {} : { sinceLastMs: elapsedMs(last, now) }) };
  }

  /** Repeats a call that is safe to repeat, until it gets a reply or the time is up. */
  async retry<Result extends { readonly kind: string }>(
    operation: LeaseOperation,
    request: StoreCall<Result> & { readonly withinMs: number },
  ): Promise<Result | StoreOutage> {
    const { clock } = this.config;
    const startedAt = momentOf(clock);
    for (;;) {
      const result = await this.call(operation, request);
      if (!isStoreOutage(result)) return result;
      if (elapsedMs(startedAt, momentOf(clock)) >= request.withinMs) return result;
      await this.pauseBriefly();
    }
  }

  /** Waits before an unanswered call is repeated. */
  pauseBriefly(): Promise<void> {
    const { timers, random } = this.config;
    return timers.pause(jittered(random, RETRY_MS, 0.5));
  }
}

type Granted = Extract<AcquireResult, { kind: 'granted' }>;

function isGrant(result: { readonly kind: string }): result is Granted {
  return result.kind === 'granted';
}

/**
 * Stored facts, which never change back (S-3). Overdue is not one of them: after an outage the
 * store may extend the session (E-6), and the heartbeat loop finds out.
 */
const SESSION_OVER: ReadonlySet<string> = new Set(['session-unknown', 'session-ended']);

function endsSession(result: {
  readonly kind: string;
  readonly why?: string;
}): result is { readonly kind: 'refused' } & SessionRefusal {
  return result.kind === 'refused' && SESSION_OVER.has(result.why ?? '');
}

const OK_KINDS: ReadonlySet<string> = new Set(
  wordsIn('opened alive ended granted withdrawn saved begun settled released current'),
);

const CLASS_OF_REFUSAL: Readonly<Record<string, OutcomeClass>> = {
  held: 'contended',
  reserved: 'contended',
  damped: 'contended',
  'behind-others': 'contended',
  'reclaim-paused': 'contended',
  superseded: 'fenced',
  'fence-ahead': 'fenced',
  'not-yours': 'fenced',
  lapsed: 'expired',
  expired: 'expired',
  'session-lapsed': 'expired',
  'session-expired': 'expired',
  'session-ended': 'revoked',
  ended: 'revoked',
};

function outcomeClass(result: { readonly kind: string; readonly why?: string }): OutcomeClass {
  if (result.kind === 'unknown' || result.kind === 'unavailable') return result.kind;
  if (result.kind === 'queued') return 'contended';
  if (OK_KINDS.has(result.kind)) return 'ok';
  return CLASS_OF_REFUSAL[result.why ?? ''] ?? 'refused';
}
