// The part of a worker that fires schedules. Every worker tries, whatever pipelines it runs; the
// store lets one succeed. A worker knows the next due time, so it asks only then. It learns of
// other processes' changes through `maintain`.

import type { EngineConfig } from '../../engine/config.ts';
import { TemplateRefused } from '../../engine/failures.ts';
import { reportTrouble } from '../../engine/observer.ts';
import { isOutage } from '../../lease/store-call.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { InvalidInput } from '../../support/fault.ts';
import { stampOf } from '../audit/api.ts';
import type { AuditStamp } from '../audit/model.ts';
import type { Schedule } from './model.ts';
import { cancelBy, type Plan, submitsFor, timesOf } from './plan-api.ts';

/** The most schedules in one round, and those of one project among them. */
const BATCH = 100;
const PROJECT_MAX = 10;
/** `catchUp: 'all'` submits at most this many: the last ones. */
const CATCH_UP_MAX = 1_000;
/** The most that one fire submits, because it is one transaction. The next fire continues. */
const SUBMITS_MAX = 2;
/** The longest rest after a round, also after one that waited for the store. */
const REST_MS_MAX = 1_000;
/** A time that a worker finds later than this counts as missed. */
const ON_TIME_MS = 60_000;
const TROUBLE_PAUSE_MS = 5_000;
/** After a mistake in the submission, the next time is at least this far away. */
const MISTAKE_MS = 60_000;
const LEFT_MS = 60_000;
const LEFT_MAX = 10_000;

export class Scheduler {
  readonly #config: EngineConfig;
  /** Monotonic. Starts at zero to look at once, so that missed times are caught up. */
  #dueAtMs = 0;
  /**
   * Schedules that this process could not fire, by project and id, and the time of its last try.
   */
  readonly #left: Map<string, number> = new Map();
  /** Monotonic. After a round, the process does other work for as long as the round took. */
  #restsUntilMs = 0;
  #isStopped = false;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  get dueInMs(): number {
    const atMs = Math.max(this.#dueAtMs, this.#restsUntilMs);
    return Math.max(0, atMs - this.#config.clock.monotonicMs());
  }

  /** A schedule changed, so look at the next opportunity. */
  checkNow(): void {
    this.#dueAtMs = 0;
  }

  noteDueIn(nextInMs: number | undefined): void {
    if (nextInMs === undefined) return;
    const atMs = this.#config.clock.monotonicMs() + nextInMs;
    this.#dueAtMs = Math.min(this.#dueAtMs, atMs);
  }

  /** A round that is under way fires nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Never rejects: claims go on when schedules fail. */
  async fireWhenDue(): Promise<void> {
    if (this.dueInMs > 0) return;
    // Reset before the query, so that a later `look` is kept.
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    const begunMs = this.#config.clock.monotonicMs();
    try {
      // Ask for more than those that are left to other processes, so that they do not block the
      // rest.
      const limit = BATCH + this.#left.size;
      const result = await this.#config.store.executions.dueSchedules({ limit });
      this.noteDueIn(result.nextInMs);
      const turns = inTurn(result.due.filter((schedule) => !this.#isLeft(schedule)));
      for (const schedule of turns.slice(0, PROJECT_MAX).flat()) {
        if (this.#isStopped || !(await this.#tryToFire(schedule, result.now))) return;
      }
      if (turns.length > PROJECT_MAX) this.checkNow();
    } catch (fault) {
      this.#trouble({ code: 'schedules-not-read' }, fault);
    }
    const endedMs = this.#config.clock.monotonicMs();
    this.#restsUntilMs = endedMs + Math.min(endedMs - begunMs, REST_MS_MAX);
  }

  #isLeft(schedule: Schedule): boolean {
    const leftAtMs = this.#left.get(nameOf(schedule));
    return leftAtMs !== undefined && this.#config.clock.monotonicMs() - leftAtMs < LEFT_MS;
  }

  /** Returns false if the store is away, so that the round ends. */
  async #tryToFire(schedule: Schedule, now: Instant): Promise<boolean> {
    const name = nameOf(schedule);
    const nowMs = this.#config.clock.monotonicMs();
    this.#left.delete(name);
    try {
      const nextAt = await this.#fire(schedule, now);
      if (nextAt !== undefined) this.noteDueIn(nextAt - now);
    } catch (fault) {
      const code = 'schedule-not-fired';
      const what = `Schedule "${schedule.id}" of project "${schedule.project}" could not be fired`;
      if (!isInvalidPlan(fault)) {
        // This process cannot fire it, or not now; another one may.
        if (!isOutage(fault) && this.#left.size < LEFT_MAX) this.#left.set(name, nowMs);
        this.#trouble({ code, what }, fault);
        return !isOutage(fault);
      }
      const skipped = `${what}, so this time is skipped`;
      reportTrouble(this.#config.observer, { code, what: skipped }, fault);
      await this.#leaveOut(schedule, now);
    }
    return true;
  }

  /**
   * A submission that can never succeed moves on. Otherwise it would stay first and be tried
   * without end.
   */
  async #leaveOut(schedule: Schedule, now: Instant): Promise<void> {
    const { project, id, digest, nextAt: expected } = schedule;
    if (expected === undefined) return;
    try {
      const { when } = JSON.parse(schedule.plan) as Plan;
      const nextAt = (await timesOf(when)).after(laterBy(now, MISTAKE_MS));
      await this.#config.store.executions.fireSchedule({
        ...{ project, id, digest, expected },
        ...(nextAt === undefined ? {} : { nextAt }),
        ...{ submits: [], firedAt: expected, overlap: 'allow' },
      });
      if (nextAt !== undefined) this.noteDueIn(nextAt - now);
    } catch (fault) {
      const what = `Schedule "${id}" could not be moved to its next time`;
      this.#trouble({ code: 'schedule-not-fired', what }, fault);
    }
  }

  async #fire(schedule: Schedule, now: Instant): Promise<Instant | undefined> {
    const { project, id, digest, nextAt: expected } = schedule;
    if (expected === undefined) return undefined;
    const { when, overlap, catchUp, pauseOnFailure } = JSON.parse(schedule.plan) as Plan;
    const times = await timesOf(when);
    // Otherwise, all but one of several at once would be skipped or cancelled.
    const isForAll = catchUp === 'all' && overlap === 'allow';
    const due = times.due(expected, now, isForAll ? CATCH_UP_MAX : 1).slice(0, SUBMITS_MAX);
    const newest = due.at(-1) ?? expected;
    const nextAt = times.after(newest);
    const isMissed = catchUp === 'none' && now - newest > ON_TIME_MS;
    const actor = `schedule ${id}`;
    const fired = await this.#config.store.executions.fireSchedule({
      ...{ project, id, digest, expected, overlap, firedAt: newest },
      ...(nextAt === undefined ? {} : { nextAt }),
      submits: await submitsFor(this.#config, schedule, { times: isMissed ? [] : due, now }),
      ...(overlap === 'cancel' ? { cancel: cancelBy(this.#config, schedule, actor) } : {}),
      ...(pauseOnFailure === true ? { pause: pauseBy(this.#config, actor) } : {}),
    });
    return fired.kind === 'paused' ? undefined : nextAt;
  }

  #afterTrouble(): number {
    return this.#config.clock.monotonicMs() + TROUBLE_PAUSE_MS;
  }

  /** The schedule stays due; this process or another tries again. */
  #trouble(trouble: { readonly code: Code; readonly what?: string }, fault: unknown): void {
    this.#dueAtMs = Math.min(this.#dueAtMs, this.#afterTrouble());
    reportTrouble(this.#config.observer, trouble, fault);
  }
}

function pauseBy(config: EngineConfig, actor: string): AuditStamp {
  return stampOf(config, 'pause-schedule', { actor, reason: 'Its last execution failed.' });
}

function nameOf({ project, id }: Schedule): string {
  return `${project}/${id}`;
}

/** Each turn has one schedule of each project; within a project, the longest due goes first. */
function inTurn(due: readonly Schedule[]): readonly (readonly Schedule[])[] {
  const rounds: Schedule[][] = [];
  const taken = new Map<string, number>();
  for (const schedule of due) {
    const round = taken.get(schedule.project) ?? 0;
    taken.set(schedule.project, round + 1);
    rounds[round] ??= [];
    rounds[round].push(schedule);
  }
  return rounds;
}

/** The fault is the same in every process, until an operator changes something. */
function isInvalidPlan(fault: unknown): boolean {
  return fault instanceof InvalidInput || fault instanceof TemplateRefused;
}
