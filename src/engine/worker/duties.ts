// The duties of a worker that has the store itself: deadlines, schedules and awaits when due. One
// worker performs the rest for all. If a coordinator has the store, it performs them instead of its
// workers.

import { DueAwaits } from '../../features/awaits/duty.ts';
import { Erasures } from '../../features/erasure/duty.ts';
import { Rollups } from '../../features/overview/duty.ts';
import { Reconciler } from '../../features/reconcile/duty.ts';
import { Retention } from '../../features/retention/duty.ts';
import { Scheduler } from '../../features/schedules/duty.ts';
import type { Session } from '../../lease/live-session.ts';
import type { SessionStore } from '../../lease/port.ts';
import type { Clock } from '../../support/clock.ts';
import type { EngineConfig } from '../config.ts';

const MAINTAIN_MS = 20_000;

interface DutyParts {
  readonly reconcileMs: number;
  readonly overdue: OverdueSessions;
  /** The worker's current session. */
  readonly session: () => Session;
}

export class Duties {
  readonly #config: EngineConfig;
  readonly #overdue: OverdueSessions;
  readonly #scheduler: Scheduler;
  readonly #awaits: DueAwaits;
  readonly #single: readonly (Reconciler | Retention | Rollups | Erasures)[];
  #maintainedAt: number;

  constructor(config: EngineConfig, { reconcileMs, overdue, session }: DutyParts) {
    const { retention } = config;
    this.#config = config;
    this.#overdue = overdue;
    this.#scheduler = new Scheduler(config);
    this.#awaits = new DueAwaits(config);
    this.#single = [
      new Reconciler(config, reconcileMs, session),
      new Rollups(config, reconcileMs, session),
      new Erasures(config, reconcileMs, session),
      ...(retention === undefined ? [] : [new Retention(config, retention, session)]),
    ];
    this.#maintainedAt = config.clock.monotonicMs();
  }

  get dueInMs(): number {
    return Math.min(this.#scheduler.dueInMs, this.#awaits.dueInMs);
  }

  /** This process created, resumed or removed a schedule. */
  checkSchedules(): void {
    this.#scheduler.checkNow();
  }

  /**
   * An await falls due in `ms`, as far as this process knows. Returns whether that is sooner than
   * before.
   */
  awaitDueIn(ms: number): boolean {
    const wasDueInMs = this.#awaits.dueInMs;
    this.#awaits.noteDueIn(ms);
    return this.#awaits.dueInMs < wasDueInMs;
  }

  async doWhenDue(): Promise<void> {
    await this.#maintainWhenDue();
    await this.#scheduler.fireWhenDue();
    await this.#awaits.expireWhenDue();
  }

  /** Resolves when no duty is under way. */
  async stop(): Promise<void> {
    this.#scheduler.stop();
    await Promise.all(this.#single.map((duty) => duty.stop()));
  }

  async #maintainWhenDue(): Promise<void> {
    const now = this.#config.clock.monotonicMs();
    if (now - this.#maintainedAt < MAINTAIN_MS) return;
    this.#maintainedAt = now;
    await this.#overdue.nowAndThen();
    const { more, nextScheduleInMs } = await this.#config.store.executions.maintain({ limit: 500 });
    this.#scheduler.noteDueIn(nextScheduleInMs);
    this.#awaits.checkRegularly();
    if (more) this.#maintainedAt = 0;
  }
}

// Ends the sessions of dead workers, so that others can claim their executions (P4). Every claim
// reports whether a session with executions is overdue. Workers that claim without pause get that
// report each time.

/** The shortest time between two sweeps, however many claims report overdue sessions. */
const SWEEP_MS = 1_000;
const SWEPT_MAX = 100;
/** Claims do not report overdue sessions that ran nothing, so sweep for them once a minute. */
const ROUND_MS = 60_000;

export class OverdueSessions {
  readonly #sessions: Pick<SessionStore, 'sweep'>;
  readonly #clock: Clock;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #underWay: Promise<boolean> | undefined;

  constructor(sessions: Pick<SessionStore, 'sweep'>, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** The time until a report can trigger the next sweep. */
  get dueInMs(): number {
    return Math.max(0, this.#sweptAt + SWEEP_MS - this.#clock.monotonicMs());
  }

  /** Takes a claim's report. Returns whether the next claim may find more. */
  async onClaimReply(isOverdue: boolean): Promise<boolean> {
    if (!isOverdue || (this.#underWay === undefined && this.dueInMs > 0)) return false;
    return this.#sweep();
  }

  /** Also sweeps sessions without executions, which no claim reports. */
  async nowAndThen(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#sweptAt >= ROUND_MS) await this.#sweep();
  }

  #sweep(): Promise<boolean> {
    this.#underWay ??= this.#sweepNow().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #sweepNow(): Promise<boolean> {
    this.#sweptAt = this.#clock.monotonicMs();
    const { expired, more } = await this.#sessions.sweep({ limit: SWEPT_MAX });
    if (more) this.#sweptAt = Number.NEGATIVE_INFINITY;
    return expired.length > 0 || more;
  }
}
