// What a worker that has the store itself does for all, beside running its pipelines: deadlines, schedules and
// awaits when they are due, and the duties that one worker of all does at a time. Where a coordinator has the
// store, it does this, and its workers do not.

import { DueAwaits } from '../../features/awaits/duty.ts';
import { Reconciler } from '../../features/reconcile/duty.ts';
import { Retention } from '../../features/retention/duty.ts';
import { Scheduler } from '../../features/schedules/duty.ts';
import type { Session } from '../../lease/live-session.ts';
import type { EngineConfig } from '../config.ts';
import type { OverdueSessions } from './overdue-sessions.ts';

const MAINTAIN_MS = 20_000;

export interface TendingParts {
  readonly reconcileMs: number;
  readonly overdue: OverdueSessions;
  /** The one that the worker has now. */
  readonly session: () => Session;
}

export class Tending {
  readonly #config: EngineConfig;
  readonly #overdue: OverdueSessions;
  readonly #scheduler: Scheduler;
  readonly #awaits: DueAwaits;
  readonly #duties: readonly (Reconciler | Retention)[];
  #maintainedAt: number;

  constructor(config: EngineConfig, { reconcileMs, overdue, session }: TendingParts) {
    const { retention } = config;
    this.#config = config;
    this.#overdue = overdue;
    this.#scheduler = new Scheduler(config);
    this.#awaits = new DueAwaits(config);
    this.#duties = [
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

  async tendWhenDue(): Promise<void> {
    await this.#maintainWhenDue();
    await this.#scheduler.fireWhenDue();
    await this.#awaits.expireWhenDue();
  }

  /** Resolves when nothing of it is under way. */
  async stop(): Promise<void> {
    await Promise.all(this.#duties.map((duty) => duty.stop()));
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
