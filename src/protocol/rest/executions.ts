// Routes that submit executions and read them.

import type { SubmitOptions } from '../../engine/submission.ts';
import { mayBeTagged } from '../../engine/values/payloads.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type { Failure } from '../../execution/failure.ts';
import { Continuations, type HistoryEvent, parseBody } from '../../execution/history.ts';
import { type ExecutionId, type ProjectName, parseExecutionId } from '../../execution/names.ts';
import { BAD_ENDS } from '../../execution/report.ts';
import type { CommandResult, CoordinatorStore } from '../../store/contract/execution-store.ts';
import { formatInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { bodyChars, openedWithin, readWithin } from '../../support/page-size.ts';
import { viewOf } from '../../support/value.ts';
import { commandOperations } from '../messages/commands.ts';
import {
  type ExecutionInFull,
  type ExecutionMessage,
  executionOperations,
  type HistoryMessage,
} from '../messages/execution.ts';
import type { SubmitBody } from '../messages/submission.ts';
import {
  executionFor,
  filterFrom,
  isReserved,
  requireOpenName,
  withEtag,
  withinMs,
  writtenTimes,
} from './handling.ts';
import { notFound, refusalReply } from './problems.ts';
import {
  type Caller,
  type Coordinator,
  type Handler,
  operationFor,
  ProblemReply,
  projectShare,
  type Reply,
  type Route,
  type RouteCall,
  routesOf,
} from './route.ts';

export const executionRoutes: readonly Route[] = routesOf(executionOperations, {
  async submitExecution({ holdfast, store, announced, inputs }, { body, caller, header }) {
    const { target, input, options } = submissionOf(body, caller, header);
    if (body.pipeline !== undefined) {
      const { project } = caller;
      const { key } = options;
      const { pipeline, release } = body;
      await inputs
        .require({ project, pipeline, ...present({ release }) }, input)
        .catch(async (refusal: unknown) => {
          // A repeated submit finds its execution, whatever was activated since.
          const isRepeated = key && (await holdfast.list({ project, key, limit: 1 })).items.length;
          if (!isRepeated) throw refusal;
        });
    }
    const { id, existing } = await holdfast.submit(target, input, options);
    noteSubmitted(store, id, caller.project);
    const pipeline = body.pipeline ?? (await holdfast.read(id))?.pipeline;
    const warning = pipeline && (await announced.warningFor(caller.project, pipeline));
    const submission = { id, existing, ...(warning && { warning }) };
    return { status: 202, body: submission, headers: { location: `/v1/executions/${id}` } };
  },

  async listExecutions({ holdfast, store }, { query, caller, header }) {
    const { sort, cursor: from, limit = 100, ...filter } = query;
    const page = { limit, ...present({ sort, cursor: from }) };
    const { items, cursor } = await holdfast.list({ ...filterFrom(filter, caller), ...page });
    const body = { items: await listedMessages(store, items), ...(cursor && { cursor }) };
    return withEtag(body, header('if-none-match'));
  },

  async countExecutions({ holdfast }, { query, caller }) {
    return { status: 200, body: { ...(await holdfast.count(filterFrom(query, caller))) } };
  },

  async readExecution(coordinator, { params, caller, header }) {
    const record = await executionFor(coordinator, caller, params.id);
    const body = await executionInFull(coordinator, record);
    return withEtag(body, header('if-none-match'));
  },

  async readHistory(coordinator, { params, query, caller, header }) {
    const { id, project } = await executionFor(coordinator, caller, params.id);
    const { holdfast, shares } = coordinator;
    const { after = 0, limit = 100 } = query;
    const reader = { holdfast, shares, project };
    const read = (part: HistoryPart): Promise<readonly HistoryEvent[]> =>
      holdfast.history(id, part);
    const events = await readWithin({ after, limit }, read, {
      placeOf: ({ seq }) => seq,
      charsOf: bodyChars,
    });
    // Large values count towards the size, too.
    const { items, isCut } = await openedWithin(events.items, (each) =>
      historyMessage(reader, each),
    );
    const more = isCut || events.isCut;
    return withEtag({ items, ...(more && { more }) }, header('if-none-match'));
  },

  async explainExecution(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const found = await coordinator.holdfast.explain(id);
    if (found === undefined) throw notFound(`execution ${id}`);
    const { until, storeProblem, ...explanation } = found;
    const body = {
      ...explanation,
      ...(until === undefined ? {} : { until: formatInstant(until) }),
      ...(caller.isOfAll && storeProblem ? { storeProblem } : {}),
    };
    return { status: 200, body };
  },

  async listChildren(coordinator, { params, query, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const { after } = query;
    const items = await coordinator.store.executions.children({
      parent: id,
      limit: 1_000,
      ...(after === undefined ? {} : { after: after as typeof id }),
    });
    return { status: 200, body: { items } };
  },

  async listAttachments(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const found = await coordinator.holdfast.attachments(id);
    return {
      status: 200,
      body: { items: found.map((each) => ({ ...each, at: formatInstant(each.at) })) },
    };
  },

  async readAttachment(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const bytes = await coordinator.holdfast.attachment(id, params.name);
    if (bytes === undefined) throw notFound(`attachment ${JSON.stringify(params.name)}`);
    // The attachment's author chose its type, so a browser must not act on it.
    const headers = { 'content-disposition': 'attachment', 'x-content-type-options': 'nosniff' };
    return { status: 200, raw: { type: 'application/octet-stream', bytes }, headers };
  },

  async readResult(coordinator, { params, query, caller, signal }) {
    const first = await waitedFor(coordinator, caller, params.id);
    const ended = await endOf(coordinator, first, {
      ...{ waitMs: query.waitMs ?? 0, signal, caller },
    });
    if (ended === undefined) {
      const { id, status } = await executionFor(coordinator, caller, params.id);
      return { status: 202, isIdle: true, body: { id, status } };
    }
    const { status, event } = ended;
    const { out, failure } = parseBody<EndBody>(event.body);
    const { stack: _, ...shown } = failure ?? {};
    const { holdfast, shares } = coordinator;
    const reader = { holdfast, shares, project: caller.project };
    const output =
      status === 'completed' ? await readable(reader, { output: out ?? {} }, isSealed) : {};
    const body = { id: ended.id, status, ...output, ...(failure && { failure: shown }) };
    return { status: 200, body };
  },
});

interface HistoryPart {
  readonly after: number;
  readonly limit: number;
}

// Turns a submit message into arguments of the engine.

interface ListRequest {
  readonly target: string | { readonly template: string; readonly version?: number };
  readonly input: unknown;
  readonly options: SubmitOptions;
}

/** The key in the body, or the header that clients send for any repeatable POST. */
const KEY_HEADER = 'idempotency-key';

function submissionOf(
  body: SubmitBody,
  caller: Caller,
  header: RouteCall<never, never, never>['header'],
): ListRequest {
  const { pipeline, template, input, ...options } = body;
  if ((pipeline === undefined) === (template === undefined)) {
    throw new ProblemReply(
      'invalid-input',
      'Pass either pipeline or template. Nothing was submitted.',
    );
  }
  if (pipeline !== undefined) requireOpenName('A pipeline', pipeline);
  const key = options.key ?? header(KEY_HEADER);
  const traceparent = traceOf(header('traceparent'));
  return {
    target:
      template === undefined
        ? (pipeline ?? '')
        : { template: template.id, ...present({ version: template.version }) },
    input,
    options: {
      ...options,
      ...operationFor(caller),
      ...present({ key, traceparent }),
    },
  };
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,64})?$/;

/**
 * Ignores an invalid header, as W3C Trace Context demands: it is no reason to refuse the request.
 */
function traceOf(text: string | undefined): string | undefined {
  return text !== undefined && TRACEPARENT.test(text) ? text : undefined;
}

// Waits for an execution to end.

interface EndBody {
  readonly out?: object;
  readonly failure?: { readonly stack?: string } & Record<string, unknown>;
  readonly continuedAs?: ExecutionId;
}

interface WaitedFor {
  readonly id: ExecutionId;
  /** It had not ended when it was looked up. */
  readonly isOpen: boolean;
}

/** The project of an execution never changes, so remember what was submitted here. */
const submitted: WeakMap<CoordinatorStore, Map<ExecutionId, ProjectName>> = new WeakMap();
const SUBMITTED_MAX = 10_000;

function noteSubmitted(store: CoordinatorStore, id: ExecutionId, project: ProjectName): void {
  const known = submitted.get(store) ?? new Map<ExecutionId, ProjectName>();
  submitted.set(store, known);
  known.set(id, project);
  const [first] = known.keys();
  if (known.size > SUBMITTED_MAX && first !== undefined) known.delete(first);
}

/** Most callers wait for what they just submitted here, which needs no lookup. */
async function waitedFor(
  coordinator: Coordinator,
  caller: Caller,
  given: string,
): Promise<WaitedFor> {
  const id = parseExecutionId(given);
  if (submitted.get(coordinator.store)?.get(id) === caller.project) return { id, isOpen: true };
  const { status } = await executionFor(coordinator, caller, id);
  return { id, isOpen: !isTerminal(status) };
}

interface Waiting {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly caller: Caller;
}

/** The end of the execution or of its continuation. Undefined if it does not end in time. */
async function endOf(
  coordinator: Coordinator,
  first: WaitedFor,
  { waitMs, signal, caller }: Waiting,
): Promise<
  { readonly id: ExecutionId; readonly status: string; readonly event: HistoryEvent } | undefined
> {
  const { store, holdfast, timers } = coordinator;
  const continuations = new Continuations(first.id);
  for (let { id, isOpen } = first; !signal.aborted; isOpen = false) {
    // Waiting callers share one query.
    const isSettledSoon = isOpen && waitMs > 0;
    const [at] = isSettledSoon ? [] : await store.executions.outcomes([id]);
    const found =
      at ??
      (waitMs === 0
        ? undefined
        : await withinMs(timers, { ms: waitMs, signal }, (until) =>
            holdfast.ended(id, { signal: until }),
          ));
    if (found === undefined || !isTerminal(found.status)) return undefined;
    const { continuedAs } = parseBody<EndBody>(found.event.body);
    if (continuedAs === undefined) return found;
    // A worker wrote this id, so look for it only in the caller's project.
    ({ id } = await executionFor(coordinator, caller, continuations.step(continuedAs)));
    // The chain may be long and the store may never wait. Yield to other requests, and notice a
    // caller that left.
    await new Promise<void>((resolve) => timers.soon(resolve));
  }
  return undefined;
}

// Routes for commands to an execution.

export function commandReply(result: CommandResult): Reply {
  if (result.kind === 'refused') throw refusalReply(result);
  return { status: 200, body: { kind: result.kind, status: result.status } };
}

/** Operators' jobs are executions too. A key with only the submit role must not stop them. */
async function requireNoOperation(
  { store }: Coordinator,
  { project, roles }: Caller,
  id: string,
): Promise<void> {
  if (roles.has('operate')) return;
  const record = await store.executions.read(parseExecutionId(id));
  if (record?.project !== project || !isReserved(record.pipeline)) return;
  throw new ProblemReply(
    'role-missing',
    `Execution ${id} is a bulk job of an operator, or of the engine. Nothing was done. Use a key with role operate.`,
  );
}

function operation(
  verb: 'cancel' | 'pause' | 'resume',
): Handler<(typeof commandOperations)['cancelExecution' | 'pauseExecution' | 'resumeExecution']> {
  return async (coordinator, { params, body, caller }) => {
    await requireNoOperation(coordinator, caller, params.id);
    const operation = { ...operationFor(caller), ...body };
    return commandReply(await coordinator.holdfast[verb](params.id, operation));
  };
}

export const commandRoutes: readonly Route[] = routesOf(commandOperations, {
  cancelExecution: operation('cancel'),
  pauseExecution: operation('pause'),
  resumeExecution: operation('resume'),

  async signalExecution(coordinator, { params, body, caller }) {
    requireOpenName('A signal', body.name);
    await requireNoOperation(coordinator, caller, params.id);
    const message = { ...body, ...operationFor(caller) };
    return commandReply(await coordinator.holdfast.signal(params.id, message));
  },
});

// Turns records into messages.

/** The project whose values to read, because large values belong to a project. */
export interface Reader extends Pick<Coordinator, 'holdfast' | 'shares'> {
  readonly project: ProjectName;
}

/** Parsing blocks the event loop, so a text takes a share of its project: one for each KiB. */
async function beginParsing({ shares, project }: Reader, text: unknown): Promise<void> {
  const weight = typeof text === 'string' ? Math.floor(text.length / 1024) : 0;
  if (weight > 0) await shares.begin(projectShare(project), weight);
}

function executionMessage(record: ExecutionRecord): ExecutionMessage {
  const { key, release, template, submittedBy, parent, redriveOf, fence, session } = record;
  return {
    id: record.id,
    project: record.project,
    pipeline: record.pipeline,
    lane: record.lane,
    status: record.status,
    holds: [...record.holds],
    compensating: record.compensating && !isTerminal(record.status),
    lineage: record.lineage,
    ...writtenTimes(record, 'submittedAt', 'readyAt', 'claimedAt', 'endedAt', 'deadlineAt'),
    ...present({ key, release, template, submittedBy, parent: parent?.id, redriveOf }),
    ...present({ fence, session }),
    tags: [...record.tags],
    attributes: { ...record.attributes },
    seq: record.seq,
  };
}

/** Short, because a page has many of them. */
const LISTED_MESSAGE_MAX = 200;

/** Adds the reason of each failed execution, with one read for all. */
async function listedMessages(
  { executions }: CoordinatorStore,
  records: readonly ExecutionRecord[],
): Promise<ExecutionMessage[]> {
  const ended = records.filter(({ status }) => BAD_ENDS.has(status)).map(({ id }) => id);
  const outcomes = ended.length === 0 ? [] : await executions.outcomes(ended);
  const failures = new Map(outcomes.map(({ id, event }) => [id, failureIn(event.body)]));
  const keys = await lineageKeys(executions, records);
  return records.map((record) => {
    const failure = failures.get(record.id);
    const lineageKey = keys(record);
    return { ...executionMessage(record), ...present({ lineageKey, failure }) };
  });
}

/** People know an execution by its key, which a re-drive leaves to the first execution (Y-20). */
async function lineageKeys(
  executions: CoordinatorStore['executions'],
  records: readonly ExecutionRecord[],
): Promise<(record: ExecutionRecord) => string | undefined> {
  const isNamed = ({ key, redriveOf }: ExecutionRecord): boolean =>
    key === undefined && redriveOf !== undefined;
  const ids = records.filter(isNamed).map(({ lineage }) => lineage);
  const found = ids.length === 0 ? [] : await executions.readMany(ids);
  const keys = new Map(found.map(({ id, key }) => [id, key]));
  return (record) => (isNamed(record) ? keys.get(record.lineage) : undefined);
}

function failureIn(body: string | undefined): ExecutionMessage['failure'] {
  const { failure } = parseBody<{ failure: Failure }>(body);
  if (failure === undefined) return undefined;
  const { code, message, location } = failure;
  return {
    code: String(code),
    message: String(message).slice(0, LISTED_MESSAGE_MAX),
    ...(location === undefined ? {} : { location: String(location) }),
  };
}

async function executionInFull(
  { holdfast, shares, store }: Coordinator,
  record: ExecutionRecord,
): Promise<ExecutionInFull> {
  const lineageKey = (await lineageKeys(store.executions, [record]))(record);
  const { input, progress, heartbeats: stored = [] } = record;
  const reader = { holdfast, shares, project: record.project };
  const values = await readable(reader, { input, ...(progress && { progress }) });
  const heartbeats = await Promise.all(
    stored.map(async ({ key, attempt, at, details }) => ({
      ...{ key, attempt, at: formatInstant(at) },
      ...(details && (await readable(reader, { details }))),
    })),
  );
  return {
    ...executionMessage(record),
    ...present({ lineageKey }),
    ...values,
    ...(heartbeats.length > 0 && { heartbeats }),
  };
}

/**
 * Decodes payloads. If one cannot be decoded here, returns `{ sealed: true }` instead of values.
 */
export async function readable<Name extends string>(
  reader: Reader,
  payloads: Readonly<Partial<Record<Name, string | object>>>,
  isLeftOut: (error: unknown) => boolean = isUndecodable,
): Promise<Partial<Record<Name, unknown>> & { readonly sealed?: true }> {
  try {
    const entries = Object.entries<string | object | undefined>(payloads);
    const values = await Promise.all(
      entries.map(async ([name, payload]) => {
        await beginParsing(reader, payload);
        const value = await reader.holdfast.decode(payload ?? {}, { project: reader.project });
        return [name, mayBeTagged(payload ?? {}) ? viewOf(value) : value] as const;
      }),
    );
    return Object.fromEntries(values) as Partial<Record<Name, unknown>>;
  } catch (error) {
    if (!isLeftOut(error)) throw error;
    return { sealed: true } as { readonly sealed: true } & Partial<Record<Name, unknown>>;
  }
}

/** `out` in a body is a value; the engine owns the rest. */
export async function historyMessage(reader: Reader, event: HistoryEvent): Promise<HistoryMessage> {
  const { seq, at, kind, name, fence, body } = event;
  return {
    seq,
    at: formatInstant(at),
    kind,
    ...present({ name, fence }),
    ...(body === undefined ? {} : { body: await openedBody(reader, body) }),
  };
}

async function openedBody(reader: Reader, body: string): Promise<unknown> {
  await beginParsing(reader, body);
  const parsed = JSON.parse(body) as { readonly out?: object } | string | number | null;
  if (typeof parsed !== 'object' || parsed === null || !('out' in parsed)) return parsed;
  const { out, ...rest } = parsed;
  const { sealed, ...value } = await readable(reader, { out: out ?? {} });
  return { ...rest, ...value, ...(sealed && { sealed }) };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function isSealed(error: unknown): boolean {
  const code = codeOf(error);
  // Older builds stored bodies of workers without a check.
  return code === 'codec-missing' || code === 'codec-refused' || code === 'invalid-input';
}

/** Beside other fields, a value that is too large to decode is left out as a sealed one is. */
function isUndecodable(error: unknown): boolean {
  return isSealed(error) || codeOf(error) === 'payload-too-large';
}
