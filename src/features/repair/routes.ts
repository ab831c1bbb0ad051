// Routes for failed executions: dead letters, re-drives and compensations.

import type { ExecutionFilter } from '../../engine/holdfast.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import { parseExecutionId } from '../../execution/names.ts';
import { commandReply } from '../../protocol/rest/executions.ts';
import { executionFor, filterFrom, withEtag, writtenTimes } from '../../protocol/rest/handling.ts';
import { notFound } from '../../protocol/rest/problems.ts';
import {
  actorOf,
  type Caller,
  type Coordinator,
  type Handler,
  operationFor,
  ProblemReply,
  type Reply,
  type Route,
  type RouteCall,
  routesOf,
} from '../../protocol/rest/route.ts';
import type { AttributeFilter, Outcome } from '../../store/contract/execution-reads.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { present } from '../../support/options.ts';
import { type AnyJobInput, REPIN_PIPELINE } from '../releases/repin-api.ts';
import { JOB_PIPELINE, type JobOutput } from './jobs-api.ts';
import {
  type DeadLetterMessage,
  type JobMessage,
  jobOperations,
  repairOperations,
} from './messages.ts';
import { type DeadLetterRecord, outcomeOf } from './model.ts';

export const repairRoutes: readonly Route[] = routesOf(repairOperations, {
  async listDeadLetters({ holdfast }, { query, caller, header }) {
    const { project } = caller;
    const { items, cursor } = await holdfast.repair.deadLetters({ limit: 100, ...query, project });
    const body = { items: items.map(deadLetterMessage), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },

  async groupDeadLetters({ holdfast }, { query, caller }) {
    const { project } = caller;
    const found = await holdfast.repair.deadLetterGroups({ ...query, project });
    return {
      status: 200,
      body: { items: found.map((each) => ({ ...each, at: formatInstant(each.at) })) },
    };
  },

  async readDeadLetter({ holdfast }, { params, caller }) {
    const found = await holdfast.repair.deadLetter(parseExecutionId(params.id));
    if (found?.project !== caller.project) throw notFound(`dead letter of ${params.id}`);
    return { status: 200, body: deadLetterMessage(found) };
  },

  async redriveExecution({ holdfast }, { params, body, caller }) {
    const operation = operationFor(caller);
    if (body.input !== undefined && !caller.roles.has('submit')) {
      throw new ProblemReply(
        'role-missing',
        'An edited input needs a key with the roles operate and submit. Nothing was done. Leave out the input, or use another key.',
      );
    }
    const { id } = await holdfast.repair.redrive(params.id, { ...body, ...operation });
    return { status: 202, body: { id }, headers: { location: `/v1/executions/${id}` } };
  },

  async skipCompensation({ holdfast }, { params, body, caller }) {
    const { step, reason } = body;
    const operation = { ...operationFor(caller), reason };
    return commandReply(await holdfast.repair.skipCompensation(params.id, step, operation));
  },

  async retryCompensation({ holdfast }, { params, body, caller }) {
    const { step, ...given } = body;
    const operation = { ...operationFor(caller), ...given };
    return commandReply(await holdfast.repair.retryCompensation(params.id, step, operation));
  },
});

function deadLetterMessage(record: DeadLetterRecord): DeadLetterMessage {
  const { project: _, at, ...rest } = record;
  return { ...rest, at: formatInstant(at) };
}

// Routes for bulk jobs. Operators pause, resume and stop a job like any execution.

const JOB_PIPELINES: readonly string[] = [JOB_PIPELINE, REPIN_PIPELINE];
const PAGE = 100;

export const bulkRoutes: readonly Route[] = routesOf(jobOperations, {
  async redriveMany({ holdfast }, { body, caller, header }) {
    const { step, open, ...others } = body.filter ?? {};
    const filter = { ...filterFrom(others, caller), ...present({ step, open }) };
    return madeReply(
      await holdfast.bulk.redrive({
        ...body,
        ...keyOf(body, header),
        filter,
        actor: actorOf(caller),
      }),
    );
  },

  async cancelMany({ holdfast }, { body, caller, header }) {
    const { status, ...others } = body.filter;
    const filter = { ...filterFrom(others, caller), ...present({ status }) };
    return madeReply(
      await holdfast.bulk.cancel({
        ...body,
        ...keyOf(body, header),
        filter,
        actor: actorOf(caller),
      }),
    );
  },

  async listJobs(coordinator, { query, caller }) {
    const { limit = PAGE } = query;
    const pages = await Promise.all(
      JOB_PIPELINES.map((pipeline) =>
        coordinator.holdfast.list({ ...query, limit, project: caller.project, pipeline }),
      ),
    );
    const found = pages.flatMap(({ items }) => items).sort((a, b) => (a.id < b.id ? 1 : -1));
    const own = found.slice(0, limit);
    const isMore = found.length > limit || pages.some(({ cursor }) => cursor !== undefined);
    const cursor = isMore ? own.at(-1)?.id : undefined;
    const readable = await jobsIfReadable(coordinator, own);
    return { status: 200, body: { items: readable, ...(cursor && { cursor }) } };
  },

  async readJob(coordinator, { params, caller }) {
    const record = await jobFor(coordinator, caller, params.id);
    const expected = await expectedOf(coordinator, record);
    const [end] = await coordinator.store.executions.outcomes([record.id]);
    const job = { ...(await jobMessage(coordinator, record, end)), ...present({ expected }) };
    if (job.action !== 'redrive' || job.dryRun) return { status: 200, body: job };
    const results = await coordinator.store.executions.jobResults({ job: record.id });
    return { status: 200, body: { ...job, results } };
  },

  async listJobItems(coordinator, { params, query, caller }) {
    const { id } = await jobFor(coordinator, caller, params.id);
    const { limit = PAGE, cursor } = query;
    const page = { limit, ...(cursor === undefined ? {} : { after: cursor }) };
    const found = await coordinator.holdfast.bulk.items(id, page);
    const last = found.length < limit ? undefined : found.at(-1)?.target;
    return {
      status: 200,
      body: {
        items: found.map((each) => ({ ...each, at: formatInstant(each.at) })),
        ...(last === undefined ? {} : { cursor: last }),
      },
    };
  },

  pauseJob: operation('pause'),
  resumeJob: operation('resume'),
  stopJob: operation('stop'),
});

const VERBS = { pause: 'pause', resume: 'resume', stop: 'cancel' } as const;

function operation(
  verb: keyof typeof VERBS,
): Handler<(typeof jobOperations)['pauseJob' | 'resumeJob' | 'stopJob']> {
  return async (coordinator, { params, body, caller }) => {
    const { id, project } = await jobFor(coordinator, caller, params.id);
    const operation = { project, actor: actorOf(caller), ...body };
    return commandReply(await coordinator.holdfast[VERBS[verb]](id, operation));
  };
}

export function keyOf(
  { key }: { readonly key?: string },
  header: RouteCall<never, never, never>['header'],
): { readonly key?: string } {
  const given = key ?? header('idempotency-key');
  return given === undefined ? {} : { key: given };
}

export function madeReply({ id }: { readonly id: string }): Reply {
  return { status: 202, body: { id }, headers: { location: `/v1/jobs/${id}` } };
}

async function jobFor(
  coordinator: Coordinator,
  caller: Caller,
  id: string,
): Promise<ExecutionRecord> {
  const record = await executionFor(coordinator, caller, id);
  if (!JOB_PIPELINES.includes(record.pipeline)) throw notFound(`job ${id}`);
  return record;
}

/**
 * An unreadable job must not hide the others from the list. Reading it by id returns the reason.
 */
async function jobsIfReadable(
  coordinator: Coordinator,
  records: readonly ExecutionRecord[],
): Promise<readonly JobMessage[]> {
  const ends = await coordinator.store.executions.outcomes(records.map(({ id }) => id));
  const byId = new Map(ends.map((end) => [end.id, end]));
  const jobs = records.map((record) =>
    unlessUnreadable(() => jobMessage(coordinator, record, byId.get(record.id))),
  );
  return (await Promise.all(jobs)).filter((job) => job !== undefined);
}

async function unlessUnreadable<Read>(read: () => Promise<Read>): Promise<Read | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

/** Accepts only counts, because older builds let remote workers end a job. */
function countsIn(output: unknown): JobOutput {
  const { seen, outcomes } = (output ?? {}) as {
    readonly seen?: unknown;
    readonly outcomes?: unknown;
  };
  const counts = new Map<string, number>();
  for (const [stored, count] of Object.entries(outcomes ?? {})) {
    const outcome = outcomeOf(stored);
    if (isCount(count)) counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  }
  return { seen: isCount(seen) ? seen : 0, outcomes: Object.fromEntries(counts) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** What the dry run counted that a person saw. Retention may have removed it. */
async function expectedOf(
  coordinator: Coordinator,
  { input, project }: ExecutionRecord,
): Promise<number | undefined> {
  const decoded = (await coordinator.holdfast.decode(input, { project })) as AnyJobInput;
  const counted = 'counted' in decoded ? decoded.counted : undefined;
  const dryRun = counted && (await coordinator.store.executions.read(counted.id));
  if (dryRun === undefined || dryRun.project !== project) return undefined;
  const [job] = await jobsIfReadable(coordinator, [dryRun]);
  return job?.seen;
}

/** The filter of a job, as its request had it. All numbers in a filter are times. */
function jobFilterOf(job: AnyJobInput): JobMessage['filter'] {
  if (job.act === 'move') return undefined;
  const filter: ExecutionFilter = job.filter;
  const { project: _, status, attribute, ...rest } = filter;
  const where = [attribute ?? []].flat().flatMap(whereOf);
  const values = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [[name, typeof value === 'number' ? formatInstant(value as Instant) : value] as const],
  );
  return {
    ...Object.fromEntries(values as [string, string | boolean][]),
    ...(status && { status: [status].flat() }),
    ...(where.length > 0 && { where }),
  };
}

function whereOf({ name, equals, min, max }: AttributeFilter): readonly string[] {
  const found = [
    ...(equals === undefined
      ? []
      : [`${name}=${typeof equals === 'string' ? `"${equals}"` : equals}`]),
    ...(min === undefined ? [] : [`${name}>=${min}`]),
    ...(max === undefined ? [] : [`${name}<=${max}`]),
  ];
  return found.length === 0 ? [name] : found;
}

async function jobMessage(
  { holdfast }: Coordinator,
  record: ExecutionRecord,
  end: Outcome | undefined,
): Promise<JobMessage> {
  const { id, status, holds, input, progress, project } = record;
  const decoded = await holdfast.decode(input, { project });
  const job = decoded as AnyJobInput;
  const { act, dryRun, by: actor, reason } = job;
  const { out } = JSON.parse(end?.event.body ?? '{}') as { readonly out?: object };
  const counted = status === 'completed' ? out : progress;
  const { seen, outcomes } = countsIn(
    await unlessUnreadable(() => holdfast.decode(counted ?? {}, { project })),
  );
  return {
    ...{
      id,
      action: act === 'move' ? 'repin' : act,
      status,
      paused: holds.includes('paused'),
      dryRun,
      actor,
      reason,
    },
    ...writtenTimes(record, 'submittedAt', 'endedAt'),
    ...present({ filter: jobFilterOf(job) }),
    ...{ seen, outcomes },
  };
}
