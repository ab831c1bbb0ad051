// Claims ready executions for a worker's pipelines, in batches. Wakeups and the next due time
// trigger a claim; polling covers lost wakeups. Between claims, the loop performs the shared
// duties.

import { LANES, type Lane } from '../../execution/execution.ts';
import type { PipelineName } from '../../execution/names.ts';
import { describeExecutionRefusal } from '../../execution/refusal.ts';
import type { ExecutionObserver } from '../../execution/report.ts';
import type { SessionId } from '../../lease/names.ts';
import type { ClaimResult } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import { AccessDenied, StoreSealed } from '../../support/fault.ts';
import type { Timers } from '../../support/timer.ts';
import type { WorkerConfig } from '../config.ts';
import { reportTrouble, sendReport } from '../observer.ts';
import type { Announcer } from './announcer.ts';
import type { Drive, DriveEvents } from './drive.ts';
import type { Duties, OverdueSessions } from './duties.ts';
import { Slots } from './slots.ts';
import type { WorkerEnd, WorkerSettings } from './worker-options.ts';
import type { CurrentSession } from './worker-session.ts';

/** The most that one claim takes, so that no claim stalls the worker. */
const CLAIM_MAX = 500;
/** The longest wait of one claim. */
const WAIT_MS_MAX = 20_000;
const NO_CLAIM = { code: 'not-claimed' } as const;
/** The longest time that a free slot waits for others, so that one claim fills several. */
const FILL_MS = 50;

interface ClaimParts {
  readonly current: CurrentSession;
  readonly announcer: Announcer;
  readonly overdue: OverdueSessions;
  /** Undefined if a coordinator performs the duties. */
  readonly duties: Duties | undefined;
  /** The store denies access to this worker. */
  readonly denied: (end: WorkerEnd) => void;
}

type Taken = Extract<ClaimResult, { readonly kind: 'claimed' }>;

/**
 * `claiming`: a claim is under way, or what it took has not begun. `noticed`: the same, and a message
 * may concern what it takes.
 */
type ClaimState = 'idle' | 'claiming' | 'noticed';

interface LastClaim {
  readonly atMs: number;
  readonly session: SessionId | undefined;
}

export class ClaimLoop implements DriveEvents {
  readonly slots: Slots;
  readonly #config: WorkerConfig;
  readonly #settings: WorkerSettings;
  readonly #names: readonly PipelineName[];
  readonly #parts: ClaimParts;
  readonly #stop: AbortController = new AbortController();
  readonly #lanes: LaneTurns = new LaneTurns();
  readonly #pause: Pause;
  readonly #denial: Denial;
  /** The last claim left ready executions in the store. */
  #isMoreReady = false;
  /** Wakeups found no free slot, or the last claim did not look at every lane. */
  #mayMissReady = true;
  #state: ClaimState = 'idle';
  #hasCrashed = false;
  /** When the last claim began, and the session that it was for. */
  #last: LastClaim = { atMs: Number.NEGATIVE_INFINITY, session: undefined };
  /** A claim that did not wait for its round. The round waits for it. */
  #begun: Promise<number> | undefined;
  #cancelFill: (() => void) | undefined;

  constructor(config: WorkerConfig, settings: WorkerSettings, parts: ClaimParts) {
    this.#config = config;
    this.#settings = settings;
    this.#names = [...settings.pipelines.keys()];
    this.#parts = parts;
    this.slots = new Slots(config, settings, this);
    this.#pause = new Pause(config.timers);
    this.#denial = new Denial(config, settings.ttlMs);
  }

  /** Resolves once the loop has stopped and the store has responded to its last claim. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted || this.#begun !== undefined) {
      let pauseMs: number;
      try {
        const roundMs = await this.#round();
        const dutyInMs = this.#parts.duties?.dueInMs ?? Infinity;
        pauseMs = Math.min(roundMs, dutyInMs, this.#parts.announcer.dueInMs);
        this.#denial.over();
      } catch (fault) {
        reportTrouble(this.#config.observer, NO_CLAIM, fault);
        const end = this.#denial.met(fault);
        if (end !== undefined) this.#parts.denied(end);
        pauseMs = pauseAfter(fault);
      }
      if (!signal.aborted && pauseMs > 0) await this.#pause.for(pauseMs);
    }
  }

  notify(): void {
    this.#pause.end();
  }

  /**
   * Claims at once, behind a submit of this process, so that both are one transaction. Returns false
   * if no claim is due. It is an ordinary claim, so it overtakes nothing.
   */
  claimBehind(): boolean {
    const free = this.#free;
    const isKnown = this.#parts.current.session.id === this.#last.session;
    if (this.#state !== 'idle' || this.#begun !== undefined || !isKnown) return false;
    if (this.#stop.signal.aborted) return false;
    if (free <= 0 || this.#dueInMs(free) > 0) return false;
    this.#begun = this.#beginClaim(free);
    // The round reports a fault.
    this.#begun.catch(() => undefined);
    this.notify();
    return true;
  }

  stop(): void {
    this.#stop.abort();
    this.#cancelFill?.();
    this.notify();
  }

  /** Acts as if the process had died. Other workers take over what this one claims now. */
  crash(): void {
    this.#hasCrashed = true;
    this.stop();
  }

  /** The store has a notice for this session: a message for one of its executions. */
  readInboxes(): void {
    // The message may concern an execution that has not begun. After a failed claim, inboxes are
    // read once more than necessary.
    if (this.#state === 'claiming') this.#state = 'noticed';
    this.slots.readInboxes();
  }

  /**
   * If the store is known to have ready executions, claim while the last write of this one is under
   * way.
   */
  leaving(): void {
    if (this.#isMoreReady) this.#freed();
  }

  /**
   * An execution that parked or went back may be ready soon, and only a claim finds out when. After
   * an end, wakeups report what became ready.
   */
  left({ hasEnded }: Pick<Drive, 'hasEnded'>): void {
    const isFull = this.slots.running >= this.#settings.concurrency;
    if (this.#isMoreReady ? isFull : !hasEnded || this.#mayMissReady) this.#freed();
  }

  /** Makes one round. Returns the longest time to wait for a wakeup. */
  async #round(): Promise<number> {
    const { current, announcer, duties } = this.#parts;
    if (this.#begun !== undefined) {
      const nextInMs = await this.#endBegun();
      // A worker may claim behind submits only, for as long as it lives.
      await duties?.doWhenDue();
      return nextInMs;
    }
    await current.renew();
    await duties?.doWhenDue();
    await this.#turnOver();
    const free = this.#free;
    if (free <= 0) this.#mayMissReady = true;
    const { id: session } = current.session;
    await announcer.begin(session, free);
    if (free <= 0) await announcer.prove(session, 0);
    if (free <= 0 && duties === undefined) return this.#settings.pollMs;
    if (this.#begun !== undefined) return this.#endBegun();
    const waitMs = this.#dueInMs(free);
    return waitMs > 0 ? waitMs : this.#beginClaim(free);
  }

  async #endBegun(): Promise<number> {
    const begun = this.#begun;
    this.#begun = undefined;
    return begun ?? 0;
  }

  get #free(): number {
    return Math.min(this.slots.free, this.#config.store.executions.room());
  }

  #dueInMs(free: number): number {
    return this.#last.atMs + this.#pauseFor(free) - this.#config.clock.monotonicMs();
  }

  #beginClaim(free: number): Promise<number> {
    this.#last = {
      atMs: this.#config.clock.monotonicMs(),
      session: this.#parts.current.session.id,
    };
    this.#pause.begin();
    return this.#claim(free);
  }

  async #claim(free: number): Promise<number> {
    const { announcer, current } = this.#parts;
    const { session } = current;
    const shares = this.#lanes.next(Math.min(free, CLAIM_MAX));
    this.#mayMissReady = shares.length === 0 || shares.some(({ limit }) => limit === 0);
    const dice = this.#config.random.next();
    const waitMs = this.#waitMs(shares);
    const request = {
      ...{ session: session.id, pipelines: this.#names, shares, dice, ...announcer.claimFor },
      ...(waitMs > 0 && { waitMs }),
    };
    if (this.#state === 'idle') this.#state = 'claiming';
    const result = await this.#config.store.executions.claim(request);
    if (result.kind === 'refused') {
      if (result.why === 'session-not-live') await session.heartbeat();
      throw new Error(describeExecutionRefusal(result));
    }
    if (this.#hasCrashed) return this.#settings.pollMs;
    await announcer.prove(session.id, free - result.claims.length);
    for (const claimed of result.claims) this.slots.drive(claimed, session);
    const isNoticed = this.#state === 'noticed';
    this.#state = 'idle';
    if (isNoticed) this.readInboxes();
    if (shares.length > 0) {
      this.#lanes.onClaimReply(shares, result.claims);
      this.#isMoreReady = result.more;
    }
    const nextInMs = await this.#nextIn(shares, result);
    if (waitMs === 0) return nextInMs;
    // The claim has waited already.
    if (result.claims.length > 0) return 0;
    return nextInMs - (this.#config.clock.monotonicMs() - this.#last.atMs);
  }

  /** How long the store may hold a claim, so that the loop still polls and announces in time. */
  #waitMs(shares: readonly Share[]): number {
    if (this.#config.store.claimsWait !== true || shares.length === 0) return 0;
    const dueInMs = Math.min(this.#settings.pollMs, this.#parts.announcer.dueInMs);
    return Math.min(WAIT_MS_MAX, Math.floor(dueInMs));
  }

  /** The time until the next claim. */
  async #nextIn(shares: readonly Share[], result: Taken): Promise<number> {
    const { overdue } = this.#parts;
    if (await overdue.onClaimReply(result.overdue)) return 0;
    if (result.more && result.claims.length > 0) return 0;
    // This turn belonged to the other lane, and that lane was empty. The first lane has not been
    // tried.
    if (result.claims.length === 0 && shares[0]?.limit === 0) return 0;
    // Spread the polls, but never beyond the interval, because polls find the executions of dead
    // workers (P4). Executions with a known due time get a claim at that time.
    const spreadMs = this.#settings.pollMs * (1 - this.#config.random.next() / 10);
    const sweepInMs = result.overdue ? overdue.dueInMs : spreadMs;
    return Math.max(1, Math.min(spreadMs, sweepInMs, result.nextReadyInMs ?? spreadMs));
  }

  /**
   * Keeps batches whole under load: the loop claims when it can fill one, or has waited long
   * enough.
   */
  #pauseFor(free: number): number {
    if (free > 0) return Math.max(free < this.#batch ? FILL_MS : 0, this.#settings.claimEveryMs);
    // A claim for zero executions still reports overdue sessions. Their executions get the next
    // free slot (P4).
    return this.#settings.pollMs;
  }

  get #batch(): number {
    return Math.min(CLAIM_MAX, this.#settings.concurrency / 2);
  }

  /** By then, executions that got a result in this turn have made their next calls. */
  #turnOver(): Promise<void> {
    return new Promise((resolve) => this.#config.timers.soon(resolve));
  }

  #freed(): void {
    if (this.slots.free >= this.#batch) this.notify();
    else this.#cancelFill ??= this.#config.timers.after(FILL_MS, () => this.#fill());
  }

  /** Claims for the free slots, although too few are free for a full batch. */
  #fill(): void {
    this.#cancelFill = undefined;
    this.notify();
  }
}

/**
 * A pause that a wakeup ends. A wakeup before the pause counts too, until the next claim begins.
 */
class Pause {
  readonly #timers: Timers;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Wakeups from here on count. */
  begin(): void {
    this.#isOver = false;
  }

  end(): void {
    if (this.#wake === undefined) this.#isOver = true;
    else this.#wake();
  }

  async for(ms: number): Promise<void> {
    if (this.#isOver) {
      this.#isOver = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        cancel();
        this.#wake = undefined;
        resolve();
      };
      const cancel = this.#timers.after(ms, wake);
      this.#wake = wake;
    });
  }
}

// Divides a claim between lanes: interactive goes first, and batch always gets a part.

export interface Share {
  readonly lane: Lane;
  readonly limit: number;
}

/** Keeps a fifth for the lane that would otherwise get nothing. */
const KEPT_PART = 5;

/** `idle`: lanes that had fewer executions than their last claim asked for. */
export function sharesOf(limit: number, turn: number, idle: ReadonlySet<Lane>): readonly Share[] {
  const favoured: Lane = idle.has('interactive') && !idle.has('batch') ? 'batch' : 'interactive';
  // Too few slots to divide: every fifth turn belongs to the other lane.
  const kept =
    limit >= KEPT_PART ? Math.floor(limit / KEPT_PART) : turn % KEPT_PART === 0 ? limit : 0;
  return LANES.map((lane) => ({ lane, limit: lane === favoured ? limit - kept : kept }));
}

/** Lanes that returned less than the claim asked for. */
export function idleLanes(
  shares: readonly Share[],
  claimed: readonly { readonly execution: { readonly lane: Lane } }[],
): ReadonlySet<Lane> {
  const counts = new Map<Lane, number>();
  for (const { execution } of claimed) {
    counts.set(execution.lane, (counts.get(execution.lane) ?? 0) + 1);
  }
  return new Set(
    shares.filter(({ lane, limit }) => (counts.get(lane) ?? 0) < limit).map(({ lane }) => lane),
  );
}

/** Remembers the turn of the lanes from one claim to the next. */
class LaneTurns {
  #turn = 0;
  #idle: ReadonlySet<Lane> = new Set();

  /** Empty when no slot is free: the claim then only reports overdue sessions. */
  next(room: number): readonly Share[] {
    this.#turn += 1;
    return room <= 0 ? [] : sharesOf(room, this.#turn, this.#idle);
  }

  onClaimReply(shares: readonly Share[], claimed: Parameters<typeof idleLanes>[1]): void {
    this.#idle = idleLanes(shares, claimed);
  }
}

// Handles a worker that is denied access: its key was revoked, has expired, or lacks the role. A
// revoked key never works again. But coordinators may learn of it at different times, and one may
// be misconfigured for a moment. So the worker reports the denial at once, and gives up only after
// the session's ttl.

const TTL_MS_DEFAULT = 15_000;
const TROUBLE_PAUSE_MS = 500;
/** Long, because only an operator can unseal a store. */
const SEALED_PAUSE_MS = 30_000;

class Denial {
  readonly #clock: Clock;
  readonly #observer: ExecutionObserver | undefined;
  readonly #ttlMs: number;
  #sinceMs: number | undefined;

  constructor(
    {
      clock,
      observer,
    }: { readonly clock: Clock; readonly observer: ExecutionObserver | undefined },
    ttlMs: number | undefined,
  ) {
    this.#clock = clock;
    this.#observer = observer;
    this.#ttlMs = ttlMs ?? TTL_MS_DEFAULT;
  }

  /** The store let the worker in again. */
  over(): void {
    this.#sinceMs = undefined;
  }

  /**
   * The worker's end, once the denial has lasted for the ttl. Undefined for other faults, and
   * before that.
   */
  met(fault: unknown): WorkerEnd | undefined {
    if (!isDenied(fault)) return undefined;
    const { code, message: why } = fault;
    const now = this.#clock.monotonicMs();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = now;
      sendReport(this.#observer, { kind: 'denied', code, why });
    }
    return now - this.#sinceMs > this.#ttlMs ? { kind: 'denied', code, why } : undefined;
  }
}

/** The pause before the next claim after a fault. */
export function pauseAfter(fault: unknown): number {
  return isA(StoreSealed, fault) ? SEALED_PAUSE_MS : TROUBLE_PAUSE_MS;
}

function isDenied(fault: unknown): fault is AccessDenied {
  return isA(AccessDenied, fault);
}

/** Never throws, whatever a store threw. */
function isA(kind: typeof AccessDenied | typeof StoreSealed, fault: unknown): boolean {
  try {
    return fault instanceof kind;
  } catch {
    return false;
  }
}
