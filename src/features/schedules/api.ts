// Schedules for callers. The store keeps them, and workers fire them (duty.ts).

import type { EngineConfig } from '../../engine/config.ts';
import type { Acting, Page } from '../../engine/holdfast.ts';
import { projectOf } from '../../engine/submission.ts';
import { expected, inputOf, scheduleOwner } from '../../engine/values/place.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { boundedText, integerOption, readOptions } from '../../support/options.ts';
import { cursorPage, openedWithin } from '../../support/page-size.ts';
import { describeAccessRefusal } from '../access/model.ts';
import { ACTING, stampOf } from '../audit/api.ts';
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

export interface ScheduleInfo extends Omit<Plan, 'input'> {
  readonly id: string;
  readonly project: ProjectName;
  readonly input: unknown;
  readonly paused: boolean;
  /** The next few; none while it is paused. */
  readonly nextTimes: readonly Instant[];
  /** The last time at which something was submitted, and what. */
  readonly firedAt?: Instant;
  readonly lastExecution?: ExecutionId;
  readonly createdAt: Instant;
  readonly by?: string;
}

interface InProject {
  readonly project?: string;
}

const NEXT_SHOWN = 5;
const LIST_NAMES = ['project', 'cursor', 'limit'];

export class Schedules {
  readonly #config: EngineConfig;
  readonly #changed: () => void;

  constructor(config: EngineConfig, changed: () => void) {
    this.#config = config;
    this.#changed = changed;
  }

  /**
   * Made, or changed to this. The same again changes nothing: put it whenever the process starts. What is
   * paused stays paused.
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
    throw new InvalidInput(`Schedule "${id}" was removed while it was put.`);
  }

  /** Undefined when there is none. */
  async get(id: string, options: InProject = {}): Promise<ScheduleInfo | undefined> {
    const schedule = await this.#config.store.executions.schedule(named(id, options));
    return schedule === undefined ? undefined : this.#info(schedule);
  }

  /** By id. */
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

  /** No time comes until it is resumed. */
  async pause(id: string, acting: Acting = {}): Promise<ScheduleResult> {
    return this.#config.store.executions.pauseSchedule(this.#acting('pause-schedule', id, acting));
  }

  /** Goes on with the next time from now; what was due meanwhile is not caught up with. */
  async resume(id: string, acting: Acting = {}): Promise<ScheduleResult> {
    const { executions } = this.#config.store;
    const which = this.#acting('resume-schedule', id, acting);
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

  /** What it has submitted goes on. */
  async remove(id: string, acting: Acting = {}): Promise<{ readonly kind: 'done' | 'no-change' }> {
    return this.#config.store.executions.removeSchedule(
      this.#acting('remove-schedule', id, acting),
    );
  }

  #acting(
    act: 'pause-schedule' | 'resume-schedule' | 'remove-schedule',
    id: string,
    acting: Acting,
  ): ScheduleCommand {
    const { project, ...given } = readOptions('schedules', acting, ACTING);
    const which = { project: projectOf(project), id: checkedScheduleId(id) };
    return { ...which, audit: stampOf(this.#config, act, given) };
  }

  async #nextOf(when: When): Promise<Instant> {
    const times = await timesOf(when);
    // Use the store's time: it decides what is due, and the clock of this host may differ by hours.
    const { now } = await this.#config.store.executions.dueSchedules({ limit: 1 });
    const next = times.after(now);
    if (next !== undefined) return next;
    throw new InvalidInput('schedules.put: no time is left that fits this cron.');
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
