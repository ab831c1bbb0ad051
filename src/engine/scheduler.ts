// The part of a worker that fires schedules. Every worker does, whatever it runs; the store lets one of them.
// It knows when the next one is due, so that it asks then and not before; what others put or change it hears
// of with `maintain`.

import type { Schedule } from '../execution/schedule.ts';
import type { Instant } from '../support/clock.ts';
import type { EngineConfig } from './config.ts';
import { tellTrouble } from './observer.ts';
import { type Plan, submitsFor } from './schedule-plan.ts';
import { timesOf } from './schedule-times.ts';

/** How many are fired in one go. */
const BATCH = 500;
/** `catchUp: 'all'` makes this many at most: the last ones. */
export const CATCH_UP_MAX = 1_000;
/** A time that is found later than this was missed. */
export const ON_TIME_MS = 60_000;
const TROUBLE_PAUSE_MS = 5_000;

export class Scheduler {
  readonly #config: EngineConfig;
  /** Monotonic. At once, to begin with: what was missed is caught up with. */
  #dueAtMs = 0;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  get dueInMs(): number {
    return Math.max(0, this.#dueAtMs - this.#config.clock.monotonicMs());
  }

  /** Something has changed: asks when it is next asked to fire. */
  look(): void {
    this.#dueAtMs = 0;
  }

  heard(nextInMs: number | undefined): void {
    if (nextInMs === undefined) return;
    const atMs = this.#config.clock.monotonicMs() + nextInMs;
    this.#dueAtMs = Math.min(this.#dueAtMs, atMs);
  }

  /** Never rejects: claims go on when schedules are in trouble. */
  async fireWhenDue(): Promise<void> {
    if (this.dueInMs > 0) return;
    // Whoever says `look` from here on is not forgotten.
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    try {
      const answer = await this.#config.store.executions.dueSchedules({ limit: BATCH });
      this.heard(answer.nextInMs);
      let failed = 0;
      for (const schedule of answer.due) {
        if (!(await this.#tryToFire(schedule, answer.now))) failed += 1;
      }
      // Those in trouble stand in front of all others; nothing is gained by asking at once.
      if (failed === BATCH) this.#dueAtMs = Math.max(this.#dueAtMs, this.#afterTrouble());
    } catch (fault) {
      this.#trouble('Schedules could not be looked at', fault);
    }
  }

  async #tryToFire(schedule: Schedule, now: Instant): Promise<boolean> {
    try {
      const nextAt = await this.#fire(schedule, now);
      if (nextAt !== undefined) this.heard(nextAt - now);
      return true;
    } catch (fault) {
      this.#trouble(`Schedule "${schedule.id}" could not be fired`, fault);
      return false;
    }
  }

  async #fire(schedule: Schedule, now: Instant): Promise<Instant | undefined> {
    const { project, id, digest, nextAt: expected } = schedule;
    if (expected === undefined) return undefined;
    const { when, overlap, catchUp } = JSON.parse(schedule.plan) as Plan;
    const times = await timesOf(when);
    // Of several at once all but one would be skipped.
    const isForAll = catchUp === 'all' && overlap === 'allow';
    const due = times.due(expected, now, isForAll ? CATCH_UP_MAX : 1);
    const newest = due.at(-1) ?? expected;
    const nextAt = times.after(newest);
    const isMissed = catchUp === 'none' && now - newest > ON_TIME_MS;
    await this.#config.store.executions.fireSchedule({
      ...{ project, id, digest, expected },
      ...(nextAt === undefined ? {} : { nextAt }),
      submits: await submitsFor(this.#config, schedule, isMissed ? [] : due),
      firedAt: newest,
      skipsWhileOpen: overlap === 'skip',
    });
    return nextAt;
  }

  #afterTrouble(): number {
    return this.#config.clock.monotonicMs() + TROUBLE_PAUSE_MS;
  }

  /** It stays due, and is tried again, here or elsewhere. */
  #trouble(what: string, fault: unknown): void {
    this.#dueAtMs = Math.min(this.#dueAtMs, this.#afterTrouble());
    tellTrouble(this.#config.observer, what, fault);
  }
}
