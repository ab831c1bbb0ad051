// Schedules for callers. The store keeps them, and workers fire them (duty.ts).

import type { EngineConfig } from '../../engine/config.ts';
import type { OperationOptions, Page } from '../../engine/holdfast.ts';
import { instantOption } from '../../engine/requests.ts';
import { projectOf } from '../../engine/submission.ts';
import { expected, inputOf, scheduleOwner } from '../../engine/values/place.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import { describeExecutionRefusal, type ScheduleRefusal } from '../../execution/refusal.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { boundedText, integerOption, readOptions, requireOneOf } from '../../support/options.ts';
import { cursorPage, openedWithin } from '../../support/page-size.ts';
import { describeAccessRefusal } from '../access/model.ts';
import { OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import type { AuditAction } from '../audit/model.ts';
import { OVERLAPS, type Overlap, type Schedule } from './model.ts';
import {
  cancelBy,
  checkedScheduleId,
  type Plan,
  type PutScheduleOptions,
  planOf,
  submitsFor,
  type Times,
  timesOf,
  type When,
} from './plan-api.ts';
import type { ScheduleCommand, ScheduleResult } from './port.ts';

/** A schedule and its next times. */
export interface ScheduleInfo extends Omit<Plan, 'input'> {
  /** The id. */
  readonly id: string;
  /** The project. */
  readonly project: ProjectName;
  /** The input of the pipeline, or the parameters of the template. */
  readonly input: unknown;
  /** True if it is paused. */
  readonly paused: boolean;
  /** The next five times. Empty while it is paused. */
  readonly nextTimes: readonly Instant[];
  /** The last time for which it submitted an execution. */
  readonly firedAt?: Instant;
  /** The execution that it submitted last. */
  readonly lastExecution?: ExecutionId;
  /** When it was created. */
  readonly createdAt: Instant;
  /** The actor who put it. */
  readonly actor?: string;
}

/** Options of `trigger`. */
export interface TriggerOptions extends OperationOptions {
  /** While an execution of the schedule is open. Default: that of the schedule. */
  readonly overlap?: Overlap;
  /** Names the call: a second one with the same key returns the same execution. */
  readonly key?: string;
}

/** The execution of a trigger, or the `open` one because of which nothing was submitted. */
export type ScheduleTriggered =
  | {
      /** An execution was submitted, or had this key before. */
      readonly kind: 'submitted';
      /** The execution. */
      readonly id: ExecutionId;
    }
  | {
      /** Nothing was submitted. */
      readonly kind: 'skipped';
      /** The open execution. */
      readonly open: ExecutionId;
    }
  | ScheduleRefused;

/** The result of an operation on a schedule that was refused. */
export type ScheduleRefused = {
  /** Nothing was written. */
  readonly kind: 'refused';
} & ScheduleRefusal;

/** Options of `backfill`. */
export interface BackfillOptions extends OperationOptions {
  /** The first time to submit. */
  readonly from: Date;
  /** The last time to submit. */
  readonly to: Date;
}

/** How many times the range has, and how many executions are new. */
export type ScheduleBackfilled =
  | {
      /** Each time of the range has an execution. */
      readonly kind: 'done';
      /** The number of times. */
      readonly times: number;
      /** The number of executions that are new. */
      readonly submitted: number;
    }
  | ScheduleRefused;

interface InProject {
  readonly project?: string;
}

const NEXT_SHOWN = 5;
const BACKFILL_MAX = 1_000;
/** Executions of one transaction. */
const BACKFILL_PAGE = 2;
const TRIGGER_KEY_MAX = 40;
const TRIGGER_NAMES = [...OPERATION_OPTIONS, 'overlap', 'key'];
const BACKFILL_NAMES = [...OPERATION_OPTIONS, 'from', 'to'];
const LIST_NAMES = ['project', 'cursor', 'limit'];

/**
 * Submits executions at set times. Reach it as `holdfast.schedules`. Workers fire them.
 *
 * @example
 * await holdfast.schedules.put({ id: 'nightly', cron: '0 3 * * *', timeZone: 'Europe/Berlin', pipeline: 'report' });
 */
export class Schedules {
  readonly #config: EngineConfig;
  readonly #changed: () => void;

  constructor(config: EngineConfig, changed: () => void) {
    this.#config = config;
    this.#changed = changed;
  }

  /**
   * Creates or changes a schedule. The same again changes nothing, so you can put it at every
   * start.
   *
   * A paused schedule stays paused. Throws `InvalidInput` for invalid options.
   */
  async put<Input>(options: PutScheduleOptions<Input>): Promise<ScheduleInfo> {
    const { plan, ...planned } = await planOf(this.#config, options);
    const { id, project } = planned;
    const result = await this.#config.store.executions.putSchedule({
      ...planned,
      plan: JSON.stringify(plan),
      nextAt: await this.#nextOf(plan.when),
    });
    if (result.kind === 'refused') {
      const why =
        result.why === 'over-quota'
          ? describeAccessRefusal(result)
          : describeExecutionRefusal(result);
      throw new Fault(result.why, why);
    }
    this.#changed();
    const stored = await this.get(id, { project });
    if (stored !== undefined) return stored;
    throw new InvalidInput(`Schedule "${id}" was removed while it was changed. Put it again.`);
  }

  /** Returns a schedule, or undefined if there is none. */
  async get(id: string, options: InProject = {}): Promise<ScheduleInfo | undefined> {
    const schedule = await this.#config.store.executions.schedule(named(id, options));
    return schedule === undefined ? undefined : this.#info(schedule);
  }

  /**
   * Returns a page of schedules by id. `cursor` is that of the previous page; `limit` is 1 to
   * 10,000 (default 100).
   */
  async list(
    options: InProject & { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<Page<ScheduleInfo>> {
    const { project, cursor, limit = 100 } = readOptions('schedules.list', options, LIST_NAMES);
    integerOption('limit', limit, { min: 1, max: 10_000 });
    const found = await this.#config.store.executions.schedules({
      project: projectOf(project),
      limit,
      ...(cursor === undefined ? {} : { after: boundedText('cursor', cursor, 256) }),
    });
    const { items, isCut } = await openedWithin(found, (each) => this.#info(each));
    return cursorPage(items, { limit, isCut }, ({ id }) => id);
  }

  /**
   * Submits an execution of the schedule now, also while it is paused. Its next times stay the same.
   *
   * `skipped`: the `open` execution still runs, and `overlap` is `skip`, or `buffer` has one. The
   * default of `overlap` is that of the schedule. With a `key`, a second call returns the same
   * execution, so a caller without a reply can repeat it.
   *
   * @example
   * const result = await holdfast.schedules.trigger('nightly', { key: 'incident-7' });
   */
  async trigger(id: string, options: TriggerOptions = {}): Promise<ScheduleTriggered> {
    const { overlap, key, ...operation } = readOptions('schedules', options, TRIGGER_NAMES);
    if (overlap !== undefined) requireOneOf('overlap', overlap, OVERLAPS);
    const name =
      key === undefined ? this.#config.random.uuid() : boundedText('key', key, TRIGGER_KEY_MAX);
    const which = this.#operation('trigger-schedule', id, operation);
    for (;;) {
      const { schedule, now } = await this.#read(which);
      if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
      const { actor } = which.audit ?? {};
      const fired = await this.#config.store.executions.triggerSchedule({
        ...{ ...which, digest: schedule.digest, firedAt: now },
        overlap: overlap ?? (JSON.parse(schedule.plan) as Plan).overlap,
        submits: await submitsFor(this.#config, schedule, {
          ...{ times: [now], now, key: `schedule:${id}#${name}` },
        }),
        cancel: cancelBy(this.#config, schedule, actor ?? `schedule ${id}`),
      });
      if (fired.kind === 'skipped') return fired;
      const [execution] = fired.kind === 'fired' ? fired.ids : [];
      if (execution !== undefined) return { kind: 'submitted', id: execution };
      // The schedule changed in between, so build the submission again.
    }
  }

  /**
   * Submits the times of the schedule from `from` to `to`, both included, oldest first and at most
   * 1,000. A time that has an execution gets no second one, so you can repeat a call that failed.
   *
   * Executions may run beside each other, unless `overlap` is `buffer` or `cancel`. Throws
   * `InvalidInput` if `to` lies in the future or there are more times.
   *
   * @example
   * await holdfast.schedules.backfill('nightly', { from: new Date('2026-11-01'), to: new Date('2026-11-08') });
   */
  async backfill(id: string, options: BackfillOptions): Promise<ScheduleBackfilled> {
    const { from, to, ...operation } = readOptions('schedules.backfill', options, BACKFILL_NAMES);
    const range = {
      from: instantOption('schedules.backfill: from', from),
      to: instantOption('schedules.backfill: to', to),
    };
    const { audit, ...which } = this.#operation('backfill-schedule', id, operation);
    let submitted = 0;
    for (let done = 0; ; ) {
      const { schedule, now } = await this.#read(which);
      if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
      if (range.to > now) {
        throw new InvalidInput(
          'schedules.backfill: `to` lies in the future. Nothing was submitted. Those times fire by themselves.',
        );
      }
      const times = await timesBetween(schedule, range);
      const { digest } = schedule;
      const all = await submitsFor(this.#config, schedule, { times, now });
      while (done < times.length) {
        const submits = all.slice(done, done + BACKFILL_PAGE);
        const result = await this.#config.store.executions.triggerSchedule({
          ...{ ...which, digest, submits, overlap: 'allow' },
          // One record for the range, with the first execution that is new.
          ...(submitted === 0 && audit !== undefined ? { audit: { ...audit, about: range } } : {}),
        });
        // The schedule changed in between, so compute the rest again.
        if (result.kind !== 'fired') break;
        done += submits.length;
        submitted += submits.filter((submit) => result.ids.includes(submit.id)).length;
      }
      if (done >= times.length) return { kind: 'done', times: times.length, submitted };
    }
  }

  /** Pauses a schedule: it does not fire until it is resumed. */
  async pause(id: string, operation: OperationOptions = {}): Promise<ScheduleResult> {
    return this.#config.store.executions.pauseSchedule(
      this.#operation('pause-schedule', id, operation),
    );
  }

  /**
   * Resumes a schedule with its next time from now. Times that passed meanwhile are not caught up.
   */
  async resume(id: string, operation: OperationOptions = {}): Promise<ScheduleResult> {
    const { executions } = this.#config.store;
    const which = this.#operation('resume-schedule', id, operation);
    for (;;) {
      const schedule = await executions.schedule(which);
      if (schedule === undefined) return { kind: 'refused', why: 'schedule-unknown', id };
      const { when } = JSON.parse(schedule.plan) as Plan;
      const nextAt = await this.#nextOf(when);
      const result = await executions.resumeSchedule({
        ...which,
        digest: schedule.digest,
        nextAt,
      });
      if (result.kind === 'done') this.#changed();
      // The schedule changed in between, so compute the next time again.
      if (result.kind !== 'stale') return result;
    }
  }

  /**
   * Removes a schedule: `done`, or `no-change` if there is none. Executions that it has submitted
   * continue.
   */
  async remove(
    id: string,
    operation: OperationOptions = {},
  ): Promise<{ readonly kind: 'done' | 'no-change' }> {
    return this.#config.store.executions.removeSchedule(
      this.#operation('remove-schedule', id, operation),
    );
  }

  #operation(
    action: Extract<AuditAction, `${string}-schedule`>,
    id: string,
    operation: OperationOptions,
  ): ScheduleCommand {
    const { project, ...given } = readOptions('schedules', operation, OPERATION_OPTIONS);
    const which = { project: projectOf(project), id: checkedScheduleId(id) };
    return { ...which, audit: stampOf(this.#config, action, given) };
  }

  /** The schedule, and the time of the store, which decides what is due. */
  async #read(
    which: ScheduleCommand,
  ): Promise<{ readonly schedule: Schedule | undefined; readonly now: Instant }> {
    const { executions } = this.#config.store;
    const { now } = await executions.dueSchedules({ limit: 1 });
    return { schedule: await executions.schedule(which), now };
  }

  async #nextOf(when: When): Promise<Instant> {
    const times = await timesOf(when);
    // Use the store's time: it decides what is due, and the clock of this host may differ by hours.
    const { now } = await this.#config.store.executions.dueSchedules({ limit: 1 });
    const next = times.after(now);
    if (next !== undefined) return next;
    throw new InvalidInput(
      'schedules.put: no future time matches this cron. Nothing was written. Correct the cron.',
    );
  }

  async #info(schedule: Schedule): Promise<ScheduleInfo> {
    const { plan, digest: _, nextAt, ...rest } = schedule;
    const { input, ...planned } = JSON.parse(plan) as Plan;
    const times = await timesOf(planned.when);
    return {
      ...rest,
      ...planned,
      input: await this.#config.payloads
        .of(schedule.project)
        .decode(input, expected(inputOf(scheduleOwner(schedule.id)))),
      nextTimes: nextFrom(times, nextAt),
    };
  }
}

/** Times of an interval count from the next one, or from its creation while it is paused. */
async function timesBetween(
  { plan, nextAt, createdAt }: Schedule,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<readonly Instant[]> {
  const { when } = JSON.parse(plan) as Plan;
  const times = await timesOf(when);
  let at: Instant | undefined = times.after(laterBy(from, -1));
  if ('every' in when) {
    const behind = ((nextAt ?? createdAt) - from) % when.every;
    at = laterBy(from, behind < 0 ? behind + when.every : behind);
  }
  const found: Instant[] = [];
  for (; at !== undefined && at <= to; at = times.after(at)) {
    if (found.length === BACKFILL_MAX) {
      throw new InvalidInput(
        `schedules.backfill: there are more than ${BACKFILL_MAX} times between \`from\` and \`to\`. Nothing was submitted. Divide the range.`,
      );
    }
    found.push(at);
  }
  return found;
}

function named(id: string, options: InProject): { readonly project: ProjectName; id: string } {
  const { project } = readOptions('schedules', options, ['project']);
  return { project: projectOf(project), id: checkedScheduleId(id) };
}

function nextFrom(times: Times, first: Instant | undefined): readonly Instant[] {
  const found: Instant[] = [];
  for (let at = first; at !== undefined && found.length < NEXT_SHOWN; at = times.after(at)) {
    found.push(at);
  }
  return found;
}
