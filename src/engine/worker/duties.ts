// The duties of a worker that has the store itself, beside running its pipelines: deadlines, schedules and
// awaits when they are due, and the duties that one worker of all does at a time. Where a coordinator has the
// store, it does this, and its workers do not.

import { DueAwaits } from '../../features/awaits/duty.ts';
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
  /** The one that the worker has now. */
  readonly session: () => Session;
}

export class Duties {
  readonly #config: EngineConfig;
  readonly #overdue: OverdueSessions;
  readonly #scheduler: Scheduler;
  readonly #awaits: DueAwaits;
  readonly #single: readonly (Reconciler | Retention)[];
  #maintainedAt: number;

  constructor(config: EngineConfig, { reconcileMs, overdue, session }: DutyParts) {
    const { retention } = config;
    this.#config = config;
    this.#overdue = overdue;
    this.#scheduler = new Scheduler(config);
    this.#awaits = new DueAwaits(config);
    this.#single = [
      new Reconciler(config, reconcileMs, session),
      ...(retention === undefined ? [] : [new Retention(config, retention, session)]),
    ];
    this.#maintainedAt = config.clock.monotonicMs();
  }

  get dueInMs(): number {
    return Math.min(this.#scheduler.dueInMs, this.#awaits.dueInMs);
  }

  /** A schedule was put, resumed or removed in this process. */
  lookAtSchedules(): void {
    this.#scheduler.look();
  }

  /** As far as this process knows. Whether that is sooner than what was known. */
  awaitDueIn(ms: number): boolean {
    const wasDueInMs = this.#awaits.dueInMs;
    this.#awaits.heard(ms);
    return this.#awaits.dueInMs < wasDueInMs;
  }

  async doWhenDue(): Promise<void> {
    await this.#maintainWhenDue();
    await this.#scheduler.fireWhenDue();
    await this.#awaits.expireWhenDue();
  }

  /** Resolves when nothing of it is under way. */
  async stop(): Promise<void> {
    await Promise.all(this.#single.map((duty) => duty.stop()));
  }

  async #maintainWhenDue(): Promise<void> {
    const now = this.#config.clock.monotonicMs();
    if (now - this.#maintainedAt < MAINTAIN_MS) return;
    this.#maintainedAt = now;
    await this.#overdue.nowAndThen();
    const { more, nextScheduleInMs } = await this.#config.store.executions.maintain({ limit: 500 });
    this.#scheduler.heard(nextScheduleInMs);
    this.#awaits.lookNowAndThen();
    if (more) this.#maintainedAt = 0;
  }
}

// Ends the sessions of those who died, so that what they left can be claimed (P4). Every claim says whether
// somebody who runs something is overdue; who claims without a pause is told so without a pause too.

/** While claims go on it sweeps at most so often, however many of them say so. */
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

  /** How long until what claims say makes it sweep again. */
  get dueInMs(): number {
    return Math.max(0, this.#sweptAt + SWEEP_MS - this.#clock.monotonicMs());
  }

  /** Takes what a claim reported. Returns whether the next claim may find more. */
  async heard(isOverdue: boolean): Promise<boolean> {
    if (!isOverdue || (this.#underWay === undefined && this.dueInMs > 0)) return false;
    return this.#sweep();
  }

  /** Those too of whom no claim speaks, so that it is told that they ended. */
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
