// The part of a worker that fires schedules. Every worker does, whatever it runs; the store lets one of them.
// It knows when the next one is due, so that it asks then and not before; what others put or change it hears
// of with `maintain`.

import type { EngineConfig } from '../../engine/config.ts';
import { TemplateRefused } from '../../engine/failures.ts';
import { tellTrouble } from '../../engine/observer.ts';
import { isOutage } from '../../lease/store-call.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import type { Schedule } from './model.ts';
import { type Plan, submitsFor, timesOf } from './plan-api.ts';

/** How many are fired in one go. */
const BATCH = 500;
/** `catchUp: 'all'` makes this many at most: the last ones. */
const CATCH_UP_MAX = 1_000;
/** A time that is found later than this was missed. */
const ON_TIME_MS = 60_000;
const TROUBLE_PAUSE_MS = 5_000;
/** After a mistake in what it submits, the next time is at least so far away. */
const MISTAKE_MS = 60_000;
const LEFT_MS = 60_000;
const LEFT_MAX = 10_000;

export class Scheduler {
  readonly #config: EngineConfig;
  /** Monotonic. At once, to begin with: what was missed is caught up with. */
  #dueAtMs = 0;
  /** By project and id: those that this process could not fire, and when it tried. */
  readonly #left: Map<string, number> = new Map();

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
      // Beyond those that are left to others, so that they hold up nobody.
      const limit = BATCH + this.#left.size;
      const answer = await this.#config.store.executions.dueSchedules({ limit });
      this.heard(answer.nextInMs);
      for (const schedule of inTurn(answer.due)) await this.#tryToFire(schedule, answer.now);
    } catch (fault) {
      this.#trouble('Schedules could not be looked at', fault);
    }
  }

  async #tryToFire(schedule: Schedule, now: Instant): Promise<void> {
    const name = `${schedule.project}/${schedule.id}`;
    const leftAtMs = this.#left.get(name);
    const nowMs = this.#config.clock.monotonicMs();
    if (leftAtMs !== undefined && nowMs - leftAtMs < LEFT_MS) return;
    this.#left.delete(name);
    try {
      const nextAt = await this.#fire(schedule, now);
      if (nextAt !== undefined) this.heard(nextAt - now);
    } catch (fault) {
      const what = `Schedule "${schedule.id}" of project "${schedule.project}" could not be fired`;
      if (!isMistake(fault)) {
        // This process cannot, or not now; another one may.
        if (!isOutage(fault) && this.#left.size < LEFT_MAX) this.#left.set(name, nowMs);
        this.#trouble(what, fault);
        return;
      }
      tellTrouble(this.#config.observer, `${what}; this time is left out`, fault);
      await this.#leaveOut(schedule, now);
    }
  }

  /** what can never be submitted is moved on, so that it neither stays in front nor is tried all the time. */
  async #leaveOut(schedule: Schedule, now: Instant): Promise<void> {
    const { project, id, digest, nextAt: expected } = schedule;
    if (expected === undefined) return;
    try {
      const { when, overlap } = JSON.parse(schedule.plan) as Plan;
      const nextAt = (await timesOf(when)).after(laterBy(now, MISTAKE_MS));
      await this.#config.store.executions.fireSchedule({
        ...{ project, id, digest, expected },
        ...(nextAt === undefined ? {} : { nextAt }),
        ...{ submits: [], firedAt: expected, skipsWhileOpen: overlap === 'skip' },
      });
      if (nextAt !== undefined) this.heard(nextAt - now);
    } catch (fault) {
      this.#trouble(`Schedule "${id}" could not be moved on`, fault);
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

/** One of each project after the other, each project's longest due first. */
function inTurn(due: readonly Schedule[]): readonly Schedule[] {
  const rounds: Schedule[][] = [];
  const taken = new Map<string, number>();
  for (const schedule of due) {
    const round = taken.get(schedule.project) ?? 0;
    taken.set(schedule.project, round + 1);
    rounds[round] ??= [];
    rounds[round].push(schedule);
  }
  return rounds.flat();
}

/** It fails for everybody, until people change something. */
function isMistake(fault: unknown): boolean {
  return fault instanceof InvalidInput || fault instanceof TemplateRefused;
}
