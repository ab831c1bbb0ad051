// Schedules for callers. The store keeps them, and workers fire them (duty.ts).

import type { EngineConfig } from '../../engine/config.ts';
import type { OperationOptions, Page } from '../../engine/holdfast.ts';
import { projectOf } from '../../engine/submission.ts';
import { expected, inputOf, scheduleOwner } from '../../engine/values/place.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { boundedText, integerOption, readOptions } from '../../support/options.ts';
import { cursorPage, openedWithin } from '../../support/page-size.ts';
import { describeAccessRefusal } from '../access/model.ts';
import { OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import type { Schedule } from './model.ts';
import {
  checkedScheduleId,
  type Plan,
  type PutScheduleOptions,
  planOf,
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

interface InProject {
  readonly project?: string;
}

const NEXT_SHOWN = 5;
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
    if (result.kind === 'refused') throw new Fault(result.why, describeAccessRefusal(result));
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
    action: 'pause-schedule' | 'resume-schedule' | 'remove-schedule',
    id: string,
    operation: OperationOptions,
  ): ScheduleCommand {
    const { project, ...given } = readOptions('schedules', operation, OPERATION_OPTIONS);
    const which = { project: projectOf(project), id: checkedScheduleId(id) };
    return { ...which, audit: stampOf(this.#config, action, given) };
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
