// Acts on many executions: durable jobs, which are paused, resumed and stopped like any execution.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { actBody, commandAnswer, idParams } from '../../protocol/messages/execution.ts';
import { commandReply } from '../../protocol/rest/commands.ts';
import { executionFor } from '../../protocol/rest/handling.ts';
import { notFound } from '../../protocol/rest/problems.ts';
import {
  actorOf,
  type Call,
  type Caller,
  type Coordinator,
  type Reply,
  type Route,
  route,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { type AnyJobInput, MOVE_PIPELINE } from '../releases/move-api.ts';
import { JOB_PIPELINE, type JobOutput } from './jobs-api.ts';
import {
  bulkCancelBody,
  bulkRedriveBody,
  type JobMessage,
  job,
  jobItemPage,
  jobPage,
  jobQuery,
  made,
} from './messages.ts';

export const MADE = {
  202: { what: 'The job is under way.', schema: made },
  409: { what: 'The key was used for another job.' },
} as const;
const JOB_PIPELINES: readonly string[] = [JOB_PIPELINE, MOVE_PIPELINE];
const PAGE = 100;

const redrive = route({
  method: 'POST',
  path: '/v1/jobs/redrive',
  name: 'redriveMany',
  summary: 'Drives all dead letters again that fit the filter.',
  allows: ['operate'],
  body: bulkRedriveBody,
  answers: MADE,
  async handle({ holdfast }, { body, caller, header }) {
    const filter = { ...body.filter, project: caller.project };
    return madeReply(
      await holdfast.bulk.redrive({ ...body, ...keyOf(body, header), filter, by: actorOf(caller) }),
    );
  },
});

const cancel = route({
  method: 'POST',
  path: '/v1/jobs/cancel',
  name: 'cancelMany',
  summary: 'Cancels all open executions that fit the filter.',
  allows: ['operate'],
  body: bulkCancelBody,
  answers: MADE,
  async handle({ holdfast }, { body, caller, header }) {
    const filter = { ...body.filter, project: caller.project };
    return madeReply(
      await holdfast.bulk.cancel({ ...body, ...keyOf(body, header), filter, by: actorOf(caller) }),
    );
  },
});

const list = route({
  method: 'GET',
  path: '/v1/jobs',
  name: 'listJobs',
  summary: 'Jobs, newest first.',
  allows: ['operate'],
  query: jobQuery,
  answers: { 200: { what: 'A page.', schema: jobPage } },
  async handle(coordinator, { query, caller }) {
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
    const jobs = await Promise.all(own.map((each) => jobIfReadable(coordinator, each)));
    const readable = jobs.filter((each) => each !== undefined);
    return { status: 200, body: { items: readable, ...(cursor && { cursor }) } };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/jobs/:id',
  name: 'readJob',
  summary: 'How far a job is.',
  allows: ['operate'],
  params: idParams,
  answers: { 200: { what: 'As it is now.', schema: job } },
  async handle(coordinator, { params, caller }) {
    const record = await jobFor(coordinator, caller, params.id);
    return { status: 200, body: await jobMessage(coordinator, record) };
  },
});

const items = route({
  method: 'GET',
  path: '/v1/jobs/:id/items',
  name: 'listJobItems',
  summary: 'What became of each item. A dry run has none.',
  allows: ['operate'],
  params: idParams,
  query: jobQuery,
  answers: { 200: { what: 'A page.', schema: jobItemPage } },
  async handle(coordinator, { params, query, caller }) {
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
});

const ACTS = { pause: 'pause', resume: 'resume', stop: 'cancel' } as const;

function act(verb: keyof typeof ACTS, summary: string): Route {
  return route({
    method: 'POST',
    path: `/v1/jobs/:id/${verb}`,
    name: `${verb}Job`,
    summary,
    allows: ['operate'],
    params: idParams,
    body: actBody,
    answers: {
      200: { what: 'Done, passed on, or nothing to change.', schema: commandAnswer },
      409: { what: 'It has ended.' },
    },
    async handle(coordinator, { params, body, caller }) {
      const { id, project } = await jobFor(coordinator, caller, params.id);
      const acting = { project, by: actorOf(caller), ...body };
      return commandReply(await coordinator.holdfast[ACTS[verb]](id, acting));
    },
  });
}

export function keyOf(
  { key }: { readonly key?: string },
  header: Call<never, never, never>['header'],
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

/** One that says what cannot be read takes no other from the list; asked for by its id, it says why. */
function jobIfReadable(
  coordinator: Coordinator,
  record: ExecutionRecord,
): Promise<JobMessage | undefined> {
  return unlessUnreadable(() => jobMessage(coordinator, record));
}

async function unlessUnreadable<Read>(read: () => Promise<Read>): Promise<Read | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

/** As far as they are counts: builds before this one let workers elsewhere end a job. */
function countsIn(said: unknown): JobOutput {
  const { seen, outcomes } = (said ?? {}) as {
    readonly seen?: unknown;
    readonly outcomes?: unknown;
  };
  const counts = Object.entries(outcomes ?? {}).filter(([, count]) => isCount(count));
  return { seen: isCount(seen) ? seen : 0, outcomes: Object.fromEntries(counts) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

async function jobMessage(
  { holdfast, store }: Coordinator,
  record: ExecutionRecord,
): Promise<JobMessage> {
  const { id, status, holds, submittedAt, endedAt, input, progress, project } = record;
  const decoded = await holdfast.decode(input, { project });
  const { act: asked, dryRun, by, reason } = decoded as AnyJobInput;
  const [end] = await store.executions.outcomes([id]);
  const { out } = JSON.parse(end?.event.body ?? '{}') as { readonly out?: object };
  const counted = status === 'completed' ? out : progress;
  const { seen, outcomes } = countsIn(
    await unlessUnreadable(() => holdfast.decode(counted ?? {}, { project })),
  );
  return {
    ...{ id, act: asked, status, paused: holds.includes('paused'), dryRun, by, reason },
    submittedAt: formatInstant(submittedAt),
    ...(endedAt === undefined ? {} : { endedAt: formatInstant(endedAt) }),
    ...{ seen, outcomes },
  };
}

export const bulkRoutes: readonly Route[] = [
  redrive,
  cancel,
  list,
  read,
  items,
  act('pause', 'Holds a job where it is.'),
  act('resume', 'Lets a job go on.'),
  act('stop', 'Ends a job; what it has done stays done.'),
];
