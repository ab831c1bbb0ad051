// Re-drives an ended execution as a new one (Y-20 … Y-22). Pure.

import {
  compensatingExecution,
  historyEvent,
  historyEvents,
  queuedAt,
} from '../../execution/decide/record.ts';
import { insertion, type SubmitRequest } from '../../execution/decide/submit.ts';
import { type Attributes, type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import {
  type HistoryEvent,
  type HistoryEventKind,
  type NewEvent,
  parseBody,
} from '../../execution/history.ts';
import {
  CLEANUP_CALL,
  type ExecutionId,
  type Payload,
  type ProjectName,
} from '../../execution/names.ts';
import type { CommandRefusal, RedriveRefusal, SubmitRefusal } from '../../execution/refusal.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { present, wordsIn } from '../../support/options.ts';

interface RedriveView {
  readonly of: ExecutionRecord | undefined;
  /** The open re-drive of it, if there is one. */
  readonly open: ExecutionId | undefined;
  /** The execution that already has the requested id. */
  readonly byId: ExecutionRecord | undefined;
}

export interface RedriveRequest {
  readonly of: ExecutionId;
  readonly project: ProjectName;
  /** Its `redriveOf` is `of`. It has no key, because the old execution keeps it. */
  readonly submit: SubmitRequest;
  /** The reused events of the old history, after `submitted`. */
  readonly events: readonly NewEvent[];
  readonly compensating: boolean;
  /** The reused events have registered compensations (Y-3). */
  readonly compensable: boolean;
}

export type RedriveDecision =
  | {
      readonly kind: 'insert';
      readonly execution: ExecutionRecord;
      /** All events, `submitted` first. */
      readonly events: readonly HistoryEvent[];
    }
  | { readonly kind: 'existing'; readonly id: ExecutionId }
  | { readonly kind: 'refuse'; readonly refusal: CommandRefusal | RedriveRefusal | SubmitRefusal };

export function decideRedrive(
  view: RedriveView,
  request: RedriveRequest,
  now: Instant,
): RedriveDecision {
  const { of, open, byId } = view;
  const { submit, project } = request;
  assert(submit.key === undefined, 'Y-20: the key stays with what is driven again');
  if (of === undefined || of.project !== project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id: request.of } };
  }
  if (byId !== undefined) {
    return byId.redriveOf === of.id
      ? { kind: 'existing', id: byId.id }
      : { kind: 'refuse', refusal: { why: 'id-taken', id: submit.id } };
  }
  if (!isTerminal(of.status)) {
    return { kind: 'refuse', refusal: { why: 'not-ended', id: of.id, status: of.status } };
  }
  if (of.erased !== undefined) {
    const { at, by } = of.erased;
    return { kind: 'refuse', refusal: { why: 'execution-erased', id: of.id, at, by } };
  }
  if (open !== undefined) {
    return { kind: 'refuse', refusal: { why: 'redrive-open', id: of.id, open } };
  }
  const { execution, event } = insertion(submit, now);
  const events = [event, ...historyEvents(request.events, { seq: 2, at: now })];
  const seq = events.length;
  const forward = { ...execution, seq, compensable: request.compensable };
  return {
    kind: 'insert',
    execution: request.compensating ? compensatingExecution(forward) : forward,
    events,
  };
}

// An execution that no worker runs begins to undo its steps (Y-3). Pure.

export interface TurnedBack {
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
}

/** For a queued or waiting execution; `cause` is the body of the event. */
export function turnBack(execution: ExecutionRecord, cause: Payload, now: Instant): TurnedBack {
  const seq = execution.seq + 1;
  const event = historyEvent({ kind: 'compensating', body: cause }, { seq, at: now });
  const queued = queuedAt({ ...execution, wakeAfter: 0 }, now);
  return { execution: { ...compensatingExecution(queued), seq }, event };
}

// Plans which events of an ended history a re-drive reuses (Y-20). Pure.
//
// forward     everything the code got, up to the failure; from there on the code runs again
// compensate  everything, including finished compensations; failed ones run again

export type RedriveMode = 'forward' | 'compensate';

type RedrivePlan =
  | {
      readonly kind: 'plan';
      readonly events: readonly NewEvent[];
      readonly reused: number;
      readonly compensable: boolean;
      /** The attributes before the first change that the code makes again. */
      readonly attributes?: Attributes;
    }
  | { readonly kind: 'impossible'; readonly why: string };

interface Body {
  readonly key?: string;
  readonly failure?: { readonly at?: string };
  readonly retryInMs?: number;
  readonly redo?: string;
  readonly attributes?: { readonly before?: Attributes };
  readonly status?: string;
  readonly saga?: boolean;
  readonly last?: boolean;
  readonly ids?: readonly string[];
  readonly id?: string;
  readonly with?: readonly string[];
}

interface Read {
  readonly event: HistoryEvent;
  readonly body: Body;
  /** The number of checkpoints before it; call keys repeat after each. */
  readonly era: number;
  /** Era and key. */
  readonly call: string | undefined;
}

/** Events that gave the code a result. Claims, parks and the like belong to the old execution. */
const GIVEN: ReadonlySet<HistoryEventKind> = new Set<HistoryEventKind>([
  'step-completed',
  'step-failed',
  'timer-set',
  'timer-fired',
  'child-spawned',
  'child-ended',
  'signal-received',
  'await-opened',
  'await-settled',
  'attached',
  'lease-ended',
  'checkpointed',
]);

/** A re-drive is not cancelled, so it cleans nothing up. */
function isGiven({ event, body }: Read): boolean {
  return GIVEN.has(event.kind) && body.key?.startsWith(CLEANUP_CALL) !== true;
}

interface RedriveOptions {
  /** The ended execution, for messages. */
  readonly id: ExecutionId;
  readonly mode: RedriveMode;
  /** The name or the key of the call to begin with. Default: the one that failed. */
  readonly from?: string;
}

export function planRedrive(
  history: readonly HistoryEvent[],
  { id, mode, from }: RedriveOptions,
): RedrivePlan {
  const events = readAll(history);
  if (mode === 'compensate') return planUndoing(events);
  const turn = events.findIndex(({ event }) => event.kind === 'compensating');
  const isUndone = events.slice(turn).some(({ body }) => body.key?.startsWith('undo:') === true);
  if (turn >= 0 && isUndone) return { kind: 'impossible', why: whyNotForward(events, id) };
  const given = withoutRetried(events).filter(isGiven);
  const start = from === undefined ? startOf(events, given) : namedStart(given, from);
  if (from !== undefined && start < 0) {
    return {
      kind: 'impossible',
      why: `Its history has no step "${from}". Pass a step name from holdfast history.`,
    };
  }
  const cut = Math.min(start < 0 ? given.length : start, firstUnfinished(given));
  if (cut === given.length && events.some(({ event }) => event.kind === 'completed')) {
    return {
      kind: 'impossible',
      why: 'It completed, so there is nothing to do again. Pass the step to begin with (from), undo it (mode "compensate"), or submit the work again.',
    };
  }
  const kept = withoutLoose(given.slice(0, cut));
  const compensable = kept.some(({ body }) => body.saga === true);
  const reused = kept.length;
  const reusing = { events: kept.map(({ event }) => again(event)), reused, compensable };
  return { kind: 'plan', ...reusing, ...attributesBefore(events, kept) };
}

/** The code runs again from the last checkpoint that is kept. */
function attributesBefore(
  events: readonly Read[],
  kept: readonly Read[],
): { readonly attributes?: Attributes } {
  const from = kept.findLast(({ event }) => event.kind === 'checkpointed')?.event.seq ?? 0;
  const first = events.find(
    ({ event, body }) => event.seq > from && body.attributes?.before !== undefined,
  );
  return present({ attributes: first?.body.attributes?.before });
}

/** Without failures after which the execution was retried, because their calls began anew. */
function withoutRetried(events: readonly Read[]): readonly Read[] {
  const redone = new Map<string, number>();
  for (const { event, era, body } of events) {
    const isRetry = event.kind === 'given-back' && typeof body.redo === 'string';
    if (isRetry) redone.set(callOf(era, body.redo), event.seq);
  }
  const isRedone = ({ event, call = '' }: Read): boolean =>
    event.kind === 'step-failed' && event.seq < (redone.get(call) ?? 0);
  return events.filter((each) => !isRedone(each));
}

/** For an execution whose compensation began. */
function whyNotForward(events: readonly Read[], id: ExecutionId): string {
  switch (events.at(-1)?.event.kind) {
    case 'quarantined':
      return `Its compensation began and did not finish, so its steps cannot continue. Retry the compensation: holdfast redrive ${id} --mode compensate.`;
    case 'compensated':
      return 'Its steps were undone, so it cannot continue from them. Submit the work again.';
    default:
      return `Its compensation has not ended. Wait for its end: holdfast explain ${id}.`;
  }
}

/** The point of failure: the call that the failure names, or an await without an answer. */
function startOf(events: readonly Read[], given: readonly Read[]): number {
  const failed = causeOf(events)?.failure?.at;
  if (failed !== undefined) {
    const call = callOf(eraAfter(given), failed);
    const index = given.findIndex((each) => each.call === call);
    if (index >= 0) return index;
  }
  const last = given.findLastIndex(({ event }) => event.kind !== 'step-failed');
  const end = given[last];
  const isStoreOutage = end?.event.kind === 'await-settled' && end.body.status !== 'answered';
  return isStoreOutage ? given.findIndex(({ call }) => call === end.call) : -1;
}

/** The first call of that name since the last checkpoint, or else before it. */
function namedStart(given: readonly Read[], from: string): number {
  const era = eraAfter(given);
  const isNamed = ({ event, body }: Read): boolean => body.key === from || event.name === from;
  const index = given.findIndex((read) => read.era === era && isNamed(read));
  return index < 0 ? given.findIndex(isNamed) : index;
}

function causeOf(events: readonly Read[]): Body | undefined {
  return events.findLast(({ event }) => CAUSES.has(event.kind))?.body;
}

const CAUSES: ReadonlySet<HistoryEventKind> = new Set<HistoryEventKind>(
  wordsIn('compensating failed quarantined'),
);

/**
 * Children and awaits that were still open belong to the old execution and would never notify the
 * new one.
 */
function firstUnfinished(given: readonly Read[]): number {
  const settled = new Set(
    given.filter(({ event }) => event.kind === 'await-settled').map(({ call }) => call),
  );
  const ended = new Set(
    given.filter(({ event }) => event.kind === 'child-ended').map(({ body }) => body.id),
  );
  const index = given.findIndex(({ event, body, call }) => {
    if (event.kind === 'await-opened') return !settled.has(call);
    return event.kind === 'child-spawned' && body.ids?.some((id) => !ended.has(id)) === true;
  });
  return index < 0 ? given.length : index;
}

/** Drops calls that began without settling: they start again, with fresh budgets. */
function withoutLoose(kept: readonly Read[]): readonly Read[] {
  const settled = new Set(kept.filter(isSettlement).map(({ call }) => call));
  return kept.filter((each) => isSettlement(each) || settled.has(each.call));
}

function isSettlement({ event, body }: Read): boolean {
  switch (event.kind) {
    case 'timer-set':
    case 'await-opened':
      return false;
    case 'step-failed':
      return body.retryInMs === undefined;
    case 'child-spawned':
      return body.last === true;
    default:
      return true;
  }
}

function planUndoing(events: readonly Read[]): RedrivePlan {
  const turn = events.findIndex(({ event }) => event.kind === 'compensating');
  const before = turn < 0 ? events : events.slice(0, turn);
  const given = before.filter(isGiven);
  if (!given.some(({ body }) => body.saga === true)) {
    return {
      kind: 'impossible',
      why: 'It has no step with a compensation, so there is nothing to undo.',
    };
  }
  const cause = events[turn]?.event ?? causeEvent(events);
  const done = (turn < 0 ? [] : events.slice(turn + 1)).filter(({ event }) =>
    UNDONE.has(event.kind),
  );
  const kept = [...given.map(({ event }) => event), cause, ...done.map(({ event }) => event)];
  const reused = given.length + done.length;
  return { kind: 'plan', events: kept.map(again), reused, compensable: false };
}

/** Finished compensations and decisions of operators. Failures run again. */
const UNDONE: ReadonlySet<HistoryEventKind> = new Set<HistoryEventKind>(
  wordsIn('step-completed signal-received'),
);

function causeEvent(events: readonly Read[]): NewEvent {
  const failure = causeOf(events)?.failure;
  const body = JSON.stringify({ status: 'failed', ...(failure && { failure }) }) as Payload;
  return { kind: 'compensating', body };
}

/** Drops the message number, because the new execution has an inbox of its own. */
function again({ kind, name, body }: NewEvent): NewEvent {
  const { n, ...rest } = parseBody<{ readonly n: number }>(body);
  return {
    kind,
    ...(name === undefined ? {} : { name }),
    ...(body === undefined
      ? {}
      : { body: n === undefined ? body : (JSON.stringify(rest) as Payload) }),
  };
}

function readAll(history: readonly HistoryEvent[]): readonly Read[] {
  let era = 0;
  return history.map((event): Read => {
    const { key, ids, ...rest } = parseBody<Body>(event.body);
    const body: Body = {
      ...rest,
      ...(typeof key === 'string' ? { key } : {}),
      ...(Array.isArray(ids) ? { ids } : {}),
    };
    const read = { event, body, era, call: body.key && callOf(era, body.key) };
    if (event.kind === 'checkpointed') era += 1;
    return read;
  });
}

/** The era after the last event. */
function eraAfter(events: readonly Read[]): number {
  const last = events.at(-1);
  return (last?.era ?? 0) + (last?.event.kind === 'checkpointed' ? 1 : 0);
}

function callOf(era: number, key: string): string {
  return `${era} ${key}`;
}
