// Checks the options of a schedule, builds the stored plan, and builds the submissions of each
// fire.

import type { Cron } from 'croner';
import type { EngineConfig } from '../../engine/config.ts';
import { type Pipeline, pipelineOf } from '../../engine/pipeline.ts';
import { auditedCommand } from '../../engine/requests.ts';
import {
  canonicalDigest,
  checkedPlacing,
  projectOf,
  type SubmitOptions,
} from '../../engine/submission.ts';
import { expected, inputOf, scheduleOwner } from '../../engine/values/place.ts';
import { validated } from '../../engine/values/schema.ts';
import type { Payload, ProjectName } from '../../execution/names.ts';
import type { Command, Submit } from '../../store/contract/execution-store.ts';
import { dateOf, formatInstant, type Instant, laterBy, toInstant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  present,
  readOptions,
  requireOneOf,
  TEN_YEARS_MS,
  wordsIn,
} from '../../support/options.ts';
import { stampOf } from '../audit/api.ts';
import type { AuditStamp } from '../audit/model.ts';
import { submissionFor, type TemplateRef, templatedBy } from '../templates/api.ts';
import { OVERLAPS, type Overlap, type Schedule } from './model.ts';

/**
 * Times at which no worker ran: submit `none` of them, only the last `one`, or `all`.
 *
 * `all` submits at most the last 1,000, and needs `overlap: 'allow'`; otherwise it submits one.
 */
export type CatchUp = 'none' | 'one' | 'all';

/** A schedule: when and what to submit. */
export interface PutScheduleOptions<Input = unknown> {
  /** The id, at most 200 bytes. */
  readonly id: string;
  /** The project. Default `default`. */
  readonly project?: string;
  /** Milliseconds between times, at least 100. Give this or `cron`. */
  readonly every?: number;
  /** A cron expression: minute, hour, day of month, month, day of week. */
  readonly cron?: string;
  /** The IANA time zone of `cron`. Default UTC. */
  readonly timeZone?: string;
  /** The pipeline to submit, or its name. Give this or `template`. */
  readonly pipeline?: Pipeline<Input, unknown> | string;
  /** The id of the template to submit. */
  readonly template?: string;
  /** The version of the template. Default: the newest at each time. */
  readonly version?: number;
  /** The input of the pipeline, or the parameters of the template. */
  readonly input?: Input;
  /** Options of each submission. */
  readonly options?: Pick<
    SubmitOptions,
    'lane' | 'deadlineMs' | 'concurrency' | 'rate' | 'tags' | 'attributes'
  >;
  /** The behaviour if the last execution is still open. Default `skip`. */
  readonly overlap?: Overlap;
  /** Which missed times are submitted. Default `one`. */
  readonly catchUp?: CatchUp;
  /**
   * Each execution starts up to this many milliseconds after its time, so that schedules of one time
   * do not start together. Default 0.
   */
  readonly jitterMs?: number;
  /** Pauses the schedule at its next time if the last execution failed. Default false. */
  readonly pauseOnFailure?: boolean;
  /**
   * If a schedule with this id has other content: `replace` it (default), or `refuse` with
   * `schedule-exists`.
   */
  readonly ifExists?: 'replace' | 'refuse';
  /** The actor. */
  readonly actor?: string;
  /** Why, for the audit. */
  readonly reason?: string;
}

/** The stored plan of a schedule. */
export interface Plan {
  /** When it fires. */
  readonly when: When;
  /** The pipeline, or the `template` with its `version`. */
  readonly target: { readonly pipeline: string } | TemplateRef;
  /** The input as it is stored. */
  readonly input: Payload;
  /** Options of each submission. */
  readonly options: NonNullable<PutScheduleOptions['options']>;
  /** The behaviour if the last execution is still open. */
  readonly overlap: Overlap;
  /** Which missed times are submitted. */
  readonly catchUp: CatchUp;
  /** The longest delay of a start after its time, in milliseconds. Absent: none. */
  readonly jitterMs?: number;
  /** True if the schedule pauses at its next time after a failed execution. */
  readonly pauseOnFailure?: boolean;
}

const NAMES: readonly (keyof PutScheduleOptions)[] = wordsIn(
  'id project every cron timeZone pipeline template version input options overlap catchUp jitterMs pauseOnFailure ifExists actor reason',
);
const OPTION_NAMES = ['lane', 'deadlineMs', 'concurrency', 'rate', 'tags', 'attributes'];
const EVERY_MS_MIN = 100;
const JITTER_MS_MAX = 86_400_000;
/** Shorter than a key, because the key adds the time. */
const ID_BYTES_MAX = 200;

export function checkedScheduleId(id: unknown): string {
  return boundedText('The id of a schedule', id, ID_BYTES_MAX);
}

/** The request, with its digest. */
interface Planned {
  readonly id: string;
  readonly project: ProjectName;
  readonly actor?: string;
  readonly plan: Plan;
  readonly digest: string;
  readonly audit: AuditStamp;
  readonly ifExists?: 'refuse';
}

export async function planOf<Input>(
  config: EngineConfig,
  given: PutScheduleOptions<Input>,
): Promise<Planned> {
  const options = readOptions('schedules.put', given, NAMES);
  const { options: chosen = {}, overlap = 'skip', catchUp = 'one', actor, reason, input } = options;
  const { jitterMs, pauseOnFailure, ifExists = 'replace' } = options;
  const id = checkedScheduleId(options.id);
  const project = projectOf(options.project);
  const placed = readOptions('schedules.put: options', chosen, OPTION_NAMES);
  const placing = checkedPlacing('schedules.put: options', placed);
  requireOneOf('overlap', overlap, OVERLAPS);
  if (needsSlot(overlap) && placing.concurrency !== undefined) {
    throw new InvalidInput(
      `schedules.put: overlap "${overlap}" runs one execution at a time, so it takes no options.concurrency. Nothing was written. Remove it, or use another overlap.`,
    );
  }
  requireOneOf('catchUp', catchUp, ['none', 'one', 'all']);
  requireOneOf('ifExists', ifExists, ['replace', 'refuse']);
  if (jitterMs !== undefined) integerOption('jitterMs', jitterMs, { min: 0, max: JITTER_MS_MAX });
  if (pauseOnFailure !== undefined) requireOneOf('pauseOnFailure', pauseOnFailure, [true, false]);
  const when = whenOf(options);
  const target = await targetOf(config, project, options);
  const audit = stampOf(config, 'put-schedule', {
    ...present({ actor, reason }),
    about: { when, ...target },
  });
  await checkInput(options);
  // Only what differs from the defaults, so that older plans keep their digest.
  const rare = {
    ...(jitterMs === undefined || jitterMs === 0 ? {} : { jitterMs }),
    ...(pauseOnFailure === true ? { pauseOnFailure } : {}),
  };
  const rest = { when, target, options: placing, overlap, catchUp, ...rare };
  const encoded = await config.payloads
    .of(project)
    .encode(`The input of schedule "${id}"`, input, inputOf(scheduleOwner(id)));
  const plan = { ...rest, input: encoded };
  const digest = canonicalDigest([rest, input]);
  return {
    ...{ id, project, plan, digest, audit, ...present({ actor }) },
    ...(ifExists === 'refuse' ? { ifExists } : {}),
  };
}

function whenOf(options: Pick<PutScheduleOptions, 'every' | 'cron' | 'timeZone'>): When {
  const { every, cron, timeZone } = options;
  if ((every === undefined) === (cron === undefined)) {
    throw new InvalidInput('schedules.put: pass either every, in milliseconds, or cron.');
  }
  if (cron !== undefined) {
    const zone = timeZone === undefined ? 'UTC' : boundedText('timeZone', timeZone, 256);
    return { cron: boundedText('cron', cron, 256), timeZone: zone };
  }
  if (timeZone !== undefined) {
    throw new InvalidInput(
      'schedules.put: timeZone works only with cron. Remove it, or pass cron.',
    );
  }
  return { every: integerOption('every', every, { min: EVERY_MS_MIN, max: TEN_YEARS_MS }) };
}

async function targetOf(
  config: EngineConfig,
  project: ProjectName,
  options: Pick<PutScheduleOptions, 'template' | 'version' | 'input'> & {
    readonly pipeline?: { readonly name: string } | string;
  },
): Promise<Plan['target']> {
  const { pipeline, template, version, input } = options;
  if ((pipeline === undefined) === (template === undefined)) {
    throw new InvalidInput('schedules.put: pass either pipeline or template.');
  }
  if (template === undefined) {
    if (version !== undefined)
      throw new InvalidInput(
        'schedules.put: version works only with template. Remove it, or pass template.',
      );
    return { pipeline: pipelineOf('schedules.put', pipeline).name };
  }
  const ref = present({ template, version });
  // Try the merge that each fire makes, so that parameters that do not fit the defaults are refused
  // now.
  (await templatedBy(config, project, ref)).inputOf(input);
  return ref;
}

/** Keeps the input as given. The worker validates it again, and a schema may change values. */
async function checkInput<Input>({ pipeline, input }: PutScheduleOptions<Input>): Promise<void> {
  if (pipeline === undefined) return;
  const { name, input: schema } = pipelineOf('schedules.put', pipeline);
  if (schema !== undefined) await validated(`The input of "${name}"`, schema, input);
}

/** These overlaps run executions one after the other, by a concurrency key with one slot. */
function needsSlot(overlap: Overlap): boolean {
  return overlap === 'buffer' || overlap === 'cancel';
}

interface Due {
  readonly times: readonly Instant[];
  readonly now: Instant;
  /** Of a trigger: names the execution instead of the time. */
  readonly key?: string;
}

/** One submission per time; the common parts are built once. */
export async function submitsFor(
  config: EngineConfig,
  schedule: Schedule,
  { times, now, key }: Due,
): Promise<readonly Submit[]> {
  if (times.length === 0) return [];
  const { id, project } = schedule;
  const plan = JSON.parse(schedule.plan) as Plan;
  const target = 'pipeline' in plan.target ? plan.target.pipeline : plan.target;
  const first = await submissionFor(config, target, {
    input: await config.payloads
      .of(project)
      .decode(plan.input, expected(inputOf(scheduleOwner(id)))),
    owner: scheduleOwner(id),
    options: { ...present(plan.options), project, key: 'schedule', actor: `schedule ${id}` },
  });
  const slot = { key: `schedule:${id}`, limit: 1 };
  return times.map((at) => {
    const execution = config.ids.next();
    const delayMs = key === undefined ? at + jitterOf(schedule, at, plan.jitterMs) - now : 0;
    return {
      ...first,
      ...(needsSlot(plan.overlap) ? { concurrency: slot } : {}),
      ...(delayMs > 0 ? { delayMs } : {}),
      id: execution,
      lineage: execution,
      // The same key for every process that fires this time.
      key: key ?? `schedule:${id}@${formatInstant(at)}`,
      scheduled: { id, at },
      attributes: { ...first.attributes, schedule: id, scheduledAt: at },
    };
  });
}

/** The record of a cancel, for the overlap `cancel`. */
export function cancelBy(
  config: EngineConfig,
  { project, id }: Schedule,
  actor: string,
): Pick<Command, 'body' | 'audit'> {
  const operation = { project, actor, reason: `Schedule "${id}" started its next execution.` };
  const { body, audit } = auditedCommand(config, 'cancel', { id: NO_EXECUTION, operation });
  return { body, ...present({ audit }) };
}

/** The store knows which execution it is. */
const NO_EXECUTION = '00000000-0000-7000-8000-000000000000';

/** The same in every process. Schedules of one time get different ones. */
function jitterOf({ project, id }: Schedule, at: Instant, jitterMs = 0): number {
  if (jitterMs === 0) return 0;
  const digest = digestOf(Buffer.from(`${project}/${id}@${at}`));
  return Number.parseInt(digest.slice(0, 12), 16) % (jitterMs + 1);
}

// The due times of a schedule: at an interval, or by a cron expression in a time zone. `croner`
// parses cron (ADR 0013); the first expression loads it.

/** When a schedule fires: `every` so many milliseconds, or by `cron` in a `timeZone`. */
export type When =
  | { readonly every: number }
  | { readonly cron: string; readonly timeZone: string };

export interface Times {
  /** The first time after this one; undefined when there is none. */
  after(at: Instant): Instant | undefined;
  /** The times from `first`, which is due itself, until now: the last `limit` of them, in order. */
  due(first: Instant, now: Instant, limit: number): readonly Instant[];
}

let loading: Promise<typeof import('croner')> | undefined;

export async function timesOf(when: When): Promise<Times> {
  if ('every' in when) return timesEvery(when.every);
  loading ??= import('croner');
  const { Cron } = await loading;
  const { cron, timeZone } = when;
  try {
    const times = timesByCron(new Cron(cron, { timezone: timeZone, mode: '5-part' }));
    // `croner` checks the time zone only on use, so use it once.
    times.after(toInstant(0));
    return times;
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new InvalidInput(
      `cron "${cron}" in time zone "${timeZone}" is not valid (${what}). Nothing was written. It must be minute, hour, day of month, month and day of week, such as "0 9 * * 1-5", in an IANA time zone, such as "Europe/Berlin".`,
    );
  }
}

function timesEvery(ms: number): Times {
  return {
    after: (at) => laterBy(at, ms),
    due(first, now, limit) {
      const newest = Math.floor((now - first) / ms);
      const count = Math.min(newest + 1, limit);
      return Array.from({ length: count }, (_, nth) =>
        laterBy(first, (newest - count + 1 + nth) * ms),
      );
    },
  };
}

function timesByCron(cron: Cron): Times {
  return {
    after(at) {
      const next = cron.nextRun(dateOf(at));
      return next === null ? undefined : toInstant(next.getTime());
    },
    due(first, now, limit) {
      // Searches backwards, so that years of downtime cost no more than days. `previousRuns` looks
      // at whole seconds before this one.
      const found = cron
        .previousRuns(limit + 1, dateOf(laterBy(now, 1_000)))
        .map((date) => toInstant(date.getTime()))
        .filter((at) => at >= first && at <= now)
        .slice(0, limit)
        .reverse();
      return found.length === 0 ? [first] : found;
    },
  };
}
