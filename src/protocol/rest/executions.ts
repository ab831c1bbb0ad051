// Routes that submit executions and read them.

import type { SubmitOptions } from '../../engine/submission.ts';
import { mayBeTagged } from '../../engine/values/payloads.ts';
import {
  type Erasure,
  type ExecutionRecord,
  isTerminal,
  stepHeartbeats,
} from '../../execution/execution.ts';
import type { Failure } from '../../execution/failure.ts';
import { Continuations, type HistoryEvent, parseBody } from '../../execution/history.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import { BAD_ENDS } from '../../execution/report.ts';
import { historyPage } from '../../store/contract/body-pages.ts';
import type { CommandResult, CoordinatorStore } from '../../store/contract/execution-store.ts';
import { formatInstant } from '../../support/clock.ts';
import { present, wordsIn } from '../../support/options.ts';
import { openedWithin } from '../../support/page-size.ts';
import { viewOf } from '../../support/value.ts';
import { commandOperations } from '../messages/commands.ts';
import type {
  ErasureMessage,
  ExecutionInFull,
  ExecutionMessage,
  HistoryMessage,
} from '../messages/execution.ts';
import { executionOperations } from '../messages/execution-operations.ts';
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
  async submitExecution(coordinator, { body, caller, header, signal }) {
    const { holdfast, store, announced, inputs } = coordinator;
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
    const { id, existing } = await submitTo(holdfast, { target, input, options }, body.signal);
    noteSubmitted(store, id, caller.project);
    const pipeline = body.pipeline ?? (await holdfast.read(id))?.pipeline;
    const warning = pipeline && (await announced.warningFor(caller.project, pipeline));
    const { waitMs = 0 } = body;
    const ended =
      waitMs === 0
        ? undefined
        : await endOf(coordinator, { id, isOpen: !existing }, { waitMs, signal, caller });
    const result = ended && (await resultMessage(coordinator, caller, ended));
    const submission = { id, existing, ...(warning && { warning }), ...(result && { result }) };
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
    const { holdfast, store, shares } = coordinator;
    const { after = 0, limit = 100 } = query;
    const reader = { holdfast, shares, project };
    const events = await historyPage(store.executions, { id, after, limit });
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

  async readAttachment(coordinator, { params, caller, signal }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const { holdfast, download } = coordinator;
    const read = (): ReturnType<typeof holdfast.attachment> => holdfast.attachment(id, params.name);
    const bytes = await download({ project: caller.project, signal }, read);
    if (bytes === undefined) throw notFound(`attachment ${JSON.stringify(params.name)}`);
    // The attachment's author chose its type, so a browser must not act on it.
    const headers = { 'content-disposition': 'attachment', 'x-content-type-options': 'nosniff' };
    return { status: 200, raw: { type: 'application/octet-stream', bytes }, headers };
  },

  async saveHistory(coordinator, { params, caller }) {
    const { id } = await executionFor(coordinator, caller, params.id);
    const saved = await coordinator.holdfast.saveHistory(id);
    if (saved === undefined) throw notFound(`execution ${id}`);
    return { status: 200, body: saved };
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
    return { status: 200, body: await resultMessage(coordinator, caller, ended) };
  },
});

async function resultMessage(
  { holdfast, shares }: Coordinator,
  { project }: Caller,
  { id, status, event }: Ended,
): Promise<object> {
  const { out, failure } = parseBody<EndBody>(event.body);
  const { stack: _, ...shown } = failure ?? {};
  const reader = { holdfast, shares, project };
  const output =
    status === 'completed' ? await readable(reader, { output: out ?? {} }, isSealedValue) : {};
  return { id, status, ...output, ...(failure && { failure: shown }) };
}

// Turns a submit message into arguments of the engine.

interface ListRequest {
  readonly target: string | { readonly template: string; readonly version?: number };
  readonly input: unknown;
  readonly options: SubmitOptions;
}

async function submitTo(
  holdfast: Coordinator['holdfast'],
  { target, input, options }: ListRequest,
  signal: SubmitBody['signal'],
): Promise<{ readonly id: ExecutionId; readonly existing: boolean }> {
  if (signal === undefined) return holdfast.submit(target, input, options);
  requireOpenName('A signal', signal.name);
  const { key = '' } = options;
  const { id, existing, signalled } = await holdfast.submitOrSignal(target, input, {
    ...{ ...options, key, signal },
  });
  if (signalled.kind === 'refused') throw refusalReply(signalled);
  return { id, existing };
}

/** The key in the body, or the header that clients send for any repeatable POST. */
const KEY_HEADER = 'idempotency-key';

function submissionOf(
  body: SubmitBody,
  caller: Caller,
  header: RouteCall<never, never, never>['header'],
): ListRequest {
  const { pipeline, template, input, signal: _signal, waitMs: _waitMs, ...options } = body;
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
    options: { ...options, ...operationFor(caller), ...present({ key, traceparent }) },
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

interface Ended {
  readonly id: ExecutionId;
  readonly status: string;
  readonly event: HistoryEvent;
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
  const known = given as ExecutionId;
  if (submitted.get(coordinator.store)?.get(known) === caller.project) {
    return { id: known, isOpen: true };
  }
  const { id, status } = await executionFor(coordinator, caller, given);
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
): Promise<Ended | undefined> {
  const { store, holdfast, timers, shares } = coordinator;
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
    await shares.begin(projectShare(caller.project));
  }
  return undefined;
}

// Routes for commands to an execution.

export function commandReply(result: CommandResult): Reply {
  if (result.kind === 'refused') throw refusalReply(result);
  return { status: 200, body: { kind: result.kind, status: result.status } };
}

/** Operators' jobs are executions too. A key with only the submit role must not stop them. */
export async function requireNoOperation(
  { holdfast }: Coordinator,
  { project, roles }: Caller,
  id: string,
): Promise<void> {
  if (roles.has('operate')) return;
  const record = await holdfast.read(id, { project });
  if (record?.project !== project || !isReserved(record.pipeline)) return;
  throw new ProblemReply(
    'role-missing',
    `Execution ${id} is a bulk job of an operator, or of the engine. Nothing was done. Use a key with role operate.`,
  );
}

function operation(
  verb: 'pause' | 'resume',
): Handler<(typeof commandOperations)['pauseExecution' | 'resumeExecution']> {
  return async (coordinator, { params, body, caller }) => {
    await requireNoOperation(coordinator, caller, params.id);
    const operation = { ...operationFor(caller), ...body };
    return commandReply(await coordinator.holdfast[verb](params.id, operation));
  };
}

/** A forced end skips compensations, so submitters must not do it. */
function requireOperator({ roles }: Caller): void {
  if (roles.has('operate')) return;
  throw new ProblemReply(
    'role-missing',
    'To end an execution by force, use a key with role operate. Nothing was done.',
  );
}

export const commandRoutes: readonly Route[] = routesOf(commandOperations, {
  async cancelExecution(coordinator, { params, body, caller }) {
    if (body.force === true) requireOperator(caller);
    await requireNoOperation(coordinator, caller, params.id);
    const operation = { ...operationFor(caller), ...body };
    return commandReply(await coordinator.holdfast.cancel(params.id, operation));
  },
  pauseExecution: operation('pause'),
  resumeExecution: operation('resume'),

  async signalExecution(coordinator, { params, body, caller }) {
    requireOpenName('A signal', body.name);
    await requireNoOperation(coordinator, caller, params.id);
    const message = { ...body, ...operationFor(caller) };
    return commandReply(await coordinator.holdfast.signal(params.id, message));
  },

  async eraseExecution({ holdfast }, { params, body, caller }) {
    const erased = await holdfast.erase(params.id, { ...operationFor(caller), ...body });
    if (erased.kind === 'refused') throw refusalReply(erased);
    const { kind, id, erasure } = erased;
    return { status: 200, body: { kind, id, ...erasureMessage(erasure) } };
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
  const { key, lineageKey, release, template, submittedBy, parent, redriveOf } = record;
  const { fence, session } = record;
  return {
    id: record.id,
    project: record.project,
    pipeline: record.pipeline,
    lane: record.lane,
    status: record.status,
    holds: [...record.holds],
    compensating:
      record.compensating && (record.status === 'quarantined' || !isTerminal(record.status)),
    lineage: record.lineage,
    ...writtenTimes(record, 'submittedAt', 'readyAt', 'claimedAt', 'endedAt', 'deadlineAt'),
    ...present({ key, lineageKey, release, template, submittedBy, parent: parent?.id, redriveOf }),
    ...present({ fence, session }),
    tags: [...record.tags],
    attributes: { ...record.attributes },
    seq: record.seq,
    ...(record.erased && { erased: erasureMessage(record.erased) }),
  };
}

/** Digests of pending values are of no use to callers. */
export function erasureMessage({ at, by, ofArchive, pending }: Erasure): ErasureMessage {
  const { documents, values } = pending ?? {};
  return {
    ...{ at: formatInstant(at), by, ...present({ ofArchive }) },
    ...(pending && { pending: { ...present({ documents, values: values?.length }) } }),
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
  return records.map((record) => {
    const failure = failures.get(record.id);
    return { ...executionMessage(record), ...present({ failure }) };
  });
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
  { holdfast, shares }: Coordinator,
  record: ExecutionRecord,
): Promise<ExecutionInFull> {
  const { input, progress, heartbeats: stored = [] } = record;
  const reader = { holdfast, shares, project: record.project };
  const values = await readable(reader, { input, ...(progress && { progress }) });
  const heartbeats = await Promise.all(
    stepHeartbeats(stored).map(async ({ key, attempt, at, details }) => ({
      ...{ key, attempt, at: formatInstant(at) },
      ...(details && (await readable(reader, { details }))),
    })),
  );
  return { ...executionMessage(record), ...values, ...(heartbeats.length > 0 && { heartbeats }) };
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

const SEALED_CODES: ReadonlySet<unknown> = new Set(
  wordsIn('codec-missing codec-refused invalid-input value-erased'),
);

export function isSealedValue(error: unknown): boolean {
  const code = codeOf(error);
  // Older builds stored bodies of workers without a check.
  return SEALED_CODES.has(code);
}

/** Beside other fields, a value that is too large to decode is left out as a sealed one is. */
function isUndecodable(error: unknown): boolean {
  return isSealedValue(error) || codeOf(error) === 'payload-too-large';
}
