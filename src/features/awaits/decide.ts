// Decides changes of awaits: opening, answers, due times, and commands (W-1 … W-9). Pure: a store
// loads the view under the lock of the unit, or of the execution if there is no unit yet. It
// applies the decision in the same transaction.

import type { NewMessage } from '../../execution/decide/deliver.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type {
  CallKey,
  ExecutionId,
  InteractionId,
  Payload,
  ProjectName,
} from '../../execution/names.ts';
import type { AwaitRefusal } from '../../execution/refusal.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import {
  type Answer,
  type AwaitStatus,
  type AwaitUnit,
  type Interaction,
  isSettled,
  type OpenAwait,
  type Reminder,
} from './model.ts';

type Refuse = { readonly kind: 'refuse'; readonly refusal: AwaitRefusal };

/** The changed rows of one unit, and the message to its execution once it has settled. */
export interface AwaitChange {
  readonly unit: AwaitUnit;
  /** The changed interactions. With `closesOthers`, all that are still open become `closed`. */
  readonly interactions: readonly Interaction[];
  readonly closesOthers: boolean;
  /** Early answers that were no longer needed; the store keeps them as late ones (W-2). */
  readonly late?: readonly LateAnswer[];
  readonly message?: NewMessage;
}

export interface LateAnswer {
  readonly id: InteractionId;
  readonly answer: Answer;
}

export interface OpenView {
  readonly execution: ExecutionRecord;
  /** The early answers of this unit. */
  readonly early: readonly Interaction[];
  /** The correlations of other questions. */
  readonly correlations: ReadonlySet<string>;
}

/** Opens a unit, or settles it at once if a correlation is taken (W-1, W-2, W-15). */
export function decideOpenAwait(open: OpenAwait, view: OpenView, now: Instant): AwaitChange {
  const { call, name, needed, timeoutMs, reminders, signed, checked } = open;
  const { defaultAnswer, concurrency } = open;
  // A question without a key needs no slot. The store opens queued ones in turn (W-17).
  const first = concurrency === undefined ? 'open' : 'queued';
  const { execution, early } = view;
  const { id, project, pipeline } = execution;
  const clash = takenCorrelation(open, view.correlations);
  const { taken, late } = takenUp(clash === undefined ? open : { ...open, needed: 0 }, early);
  const unneeded = new Set(late.map((each) => each.id));
  const interactions = open.items.map((each, item): Interaction => {
    const kept = taken.get(each.id);
    return {
      id: each.id,
      execution: id,
      call,
      project,
      item,
      status: kept === undefined ? first : 'answered',
      ...(each.correlation === undefined || clash !== undefined
        ? {}
        : { correlation: each.correlation }),
      ...(each.request === undefined ? {} : { request: each.request }),
      ...(each.assignee === undefined ? {} : { assignee: each.assignee }),
      ...kept,
      late: unneeded.has(each.id) ? 1 : 0,
    };
  });
  const opened: AwaitUnit = withNext({
    execution: id,
    call,
    project,
    pipeline,
    name,
    items: open.items.length,
    needed,
    answered: taken.size,
    status: 'open',
    openedAt: now,
    ...(timeoutMs === undefined ? {} : { dueAt: laterBy(now, timeoutMs) }),
    reminders,
    signed,
    checked,
    ...(defaultAnswer === undefined ? {} : { defaultAnswer }),
    ...(clash === undefined ? {} : { clash }),
    ...(concurrency === undefined ? {} : { concurrency }),
  });
  if (clash !== undefined) {
    return { ...settle(opened, { status: 'cancelled', interactions, now }), late };
  }
  if (taken.size < needed) return { unit: opened, interactions, closesOthers: false };
  return { ...settle(opened, { status: 'answered', interactions, now }), late };
}

/** Two questions of one unit cannot have the same correlation either. */
function takenCorrelation(
  { items }: OpenAwait,
  correlations: ReadonlySet<string>,
): string | undefined {
  const seen = new Set(correlations);
  for (const { correlation } of items) {
    if (correlation === undefined) continue;
    if (seen.has(correlation)) return correlation;
    seen.add(correlation);
  }
  return undefined;
}

type TakenAnswer = Pick<Interaction, 'answer' | 'verified'>;

/**
 * The earliest answers, up to the needed number. Early answers to a signed await need a link too;
 * others are dropped (W-7).
 */
function takenUp(
  open: OpenAwait,
  early: readonly Interaction[],
): {
  readonly taken: ReadonlyMap<InteractionId, TakenAnswer>;
  readonly late: readonly LateAnswer[];
} {
  const known = new Set(open.items.map(({ id }) => id));
  const inOrder = early
    .flatMap(({ id, item, answer, verified }) =>
      answer === undefined ? [] : [{ id, item, answer, ...(verified && { verified }) }],
    )
    .filter(({ id, verified }) => known.has(id) && (verified === true || !open.signed))
    .toSorted((a, b) => a.answer.at - b.answer.at || a.item - b.item);
  const taken = inOrder
    .slice(0, open.needed)
    .map(({ id, item: _, ...kept }) => [id, kept] as const);
  const late = inOrder.slice(open.needed).map(({ id, answer }) => ({ id, answer }));
  return { taken: new Map(taken), late };
}

export interface AnswerView {
  readonly execution: ExecutionRecord | undefined;
  readonly unit: AwaitUnit | undefined;
  /** The interaction to answer. */
  readonly interaction: Interaction | undefined;
  /** All answered interactions, for the message. Used only if this answer settles the unit. */
  answered(): readonly Interaction[];
}

export interface AnswerRequest {
  readonly project: ProjectName;
  readonly id: InteractionId;
  /** The position. With it, an answer can come before the unit opens (W-2). */
  readonly place?: {
    readonly execution: ExecutionId;
    readonly call: CallKey;
    readonly item: number;
  };
  readonly value: Payload;
  readonly digest: string;
  readonly actor?: string;
  /** The answer came by a link with a valid signature (W-7). */
  readonly verified: boolean;
}

export type AnswerDecision =
  | Refuse
  | { readonly kind: 'existing'; readonly interaction: Interaction }
  /** The store inserts this row unchanged (W-2). */
  | { readonly kind: 'keep-early'; readonly interaction: Interaction }
  | { readonly kind: 'apply'; readonly change: AwaitChange }
  /**
   * The store keeps the late answer and returns the refusal. `change`: the unit had to time out
   * first (W-12).
   */
  | {
      readonly kind: 'late';
      readonly interaction: Interaction;
      readonly answer: Answer;
      readonly refusal: AwaitRefusal;
      readonly change?: AwaitChange;
    };

/** Decides one answer (W-2 … W-5, W-7). */
export function decideAnswer(
  view: AnswerView,
  request: AnswerRequest,
  now: Instant,
): AnswerDecision {
  const { unit, interaction } = view;
  const answer: Answer = {
    value: request.value,
    digest: request.digest,
    ...(request.actor === undefined ? {} : { actor: request.actor }),
    at: now,
  };
  if (interaction === undefined || interaction.project !== request.project) {
    return decideEarly(view, request, answer);
  }
  if (unit?.signed === true && !request.verified) {
    return refuse({ why: 'link-required', id: request.id });
  }
  if (interaction.answer !== undefined && interaction.status !== 'closed') {
    return interaction.answer.digest === request.digest
      ? { kind: 'existing', interaction }
      : refuse(conflict(interaction.id, interaction.answer));
  }
  if (unit === undefined || isSettled(unit) || interaction.status === 'closed') {
    return late(interaction, answer, unit?.status ?? 'cancelled');
  }
  if (unit.dueAt !== undefined && unit.dueAt <= now) {
    const change = timeOut(unit, view.answered(), now);
    return { ...late(interaction, answer, change.unit.status), change };
  }
  const taken: Interaction = { ...interaction, ...takenBy(request, answer), status: 'answered' };
  return { kind: 'apply', change: answered(view, { unit, taken }, now) };
}

function takenBy({ verified }: AnswerRequest, answer: Answer): TakenAnswer {
  return { answer, ...(verified && { verified }) };
}

function answered(
  view: AnswerView,
  { unit, taken }: { readonly unit: AwaitUnit; readonly taken: Interaction },
  now: Instant,
): AwaitChange {
  const counted: AwaitUnit = { ...unit, answered: unit.answered + 1 };
  if (counted.answered < unit.needed) {
    return { unit: counted, interactions: [taken], closesOthers: false };
  }
  const all = [...view.answered().filter(({ id }) => id !== taken.id), taken];
  return {
    ...settle(counted, { status: 'answered', interactions: all, now }),
    interactions: [taken],
  };
}

function decideEarly(view: AnswerView, request: AnswerRequest, answer: Answer): AnswerDecision {
  const { execution } = view;
  const { place, id, project } = request;
  // A unit without this interaction: the item does not exist.
  if (place === undefined || view.unit !== undefined || view.interaction !== undefined) {
    return refuse({ why: 'await-unknown', id });
  }
  if (execution === undefined || execution.project !== project || isTerminal(execution.status)) {
    return refuse({ why: 'await-unknown', id });
  }
  const taken = takenBy(request, answer);
  const interaction: Interaction = { id, project, ...place, status: 'early', ...taken, late: 0 };
  return { kind: 'keep-early', interaction };
}

function late(
  interaction: Interaction,
  answer: Answer,
  status: AwaitStatus,
): Extract<AnswerDecision, { kind: 'late' }> {
  const refusal: AwaitRefusal = { why: 'answer-late', id: interaction.id, status };
  return {
    kind: 'late',
    interaction: { ...interaction, late: interaction.late + 1 },
    answer,
    refusal,
  };
}

interface DueAwait {
  readonly change: AwaitChange;
  /** The reminder to submit; at most one, however many were due (W-13). */
  readonly starts: readonly Reminder['start'][];
}

/** Undefined when nothing is due (W-6). */
export function decideDue(
  { unit, answered: taken }: { readonly unit: AwaitUnit; answered(): readonly Interaction[] },
  now: Instant,
): DueAwait | undefined {
  if (isSettled(unit) || unit.nextAt === undefined || unit.nextAt > now) return undefined;
  if (unit.dueAt !== undefined && unit.dueAt <= now) {
    return { change: timeOut(unit, taken(), now), starts: [] };
  }
  const due = unit.reminders.filter(({ afterMs }) => laterBy(unit.openedAt, afterMs) <= now);
  const reminders = unit.reminders.slice(due.length);
  const last = due.at(-1);
  return {
    change: { unit: withNext({ ...unit, reminders }), interactions: [], closesOthers: false },
    starts: last === undefined ? [] : [last.start],
  };
}

export interface AwaitCommandView {
  readonly unit: AwaitUnit | undefined;
  readonly interaction: Interaction | undefined;
  answered(): readonly Interaction[];
}

interface AwaitCommandRequest {
  readonly project: ProjectName;
  readonly id: InteractionId;
}

export type AwaitCommandDecision =
  | Refuse
  | { readonly kind: 'apply'; readonly change: AwaitChange };

/** `dueInMs` counts from now; undefined removes the limit (W-8). */
export function decideExtend(
  view: AwaitCommandView,
  request: AwaitCommandRequest & { readonly dueInMs?: number },
  now: Instant,
): AwaitCommandDecision {
  const open = requireOpenUnit(view, request, now);
  if (open.kind === 'refuse') return open;
  const { dueAt: _, ...unlimited } = open.unit;
  const { dueInMs } = request;
  const unit = withNext({
    ...unlimited,
    ...(dueInMs === undefined ? {} : { dueAt: laterBy(now, dueInMs) }),
  });
  return { kind: 'apply', change: { unit, interactions: [], closesOthers: false } };
}

/** An absent `assignee` removes the assignee (W-8). */
export function decideAssign(
  view: AwaitCommandView,
  request: AwaitCommandRequest & { readonly assignee?: string },
  now: Instant,
): AwaitCommandDecision {
  const open = requireOpenUnit(view, request, now);
  if (open.kind === 'refuse') return open;
  const { assignee: _, ...unassigned } = open.interaction;
  const { assignee } = request;
  const interaction = { ...unassigned, ...(assignee === undefined ? {} : { assignee }) };
  return {
    kind: 'apply',
    change: { unit: open.unit, interactions: [interaction], closesOthers: false },
  };
}

/** Cancels the whole unit (W-8). */
export function decideCancelAwait(
  view: AwaitCommandView,
  request: AwaitCommandRequest,
  now: Instant,
): AwaitCommandDecision {
  const open = requireOpenUnit(view, request, now);
  if (open.kind === 'refuse') return open;
  const interactions = view.answered();
  const change = settle(open.unit, { status: 'cancelled', interactions, now });
  return { kind: 'apply', change: { ...change, interactions: [] } };
}

/** A unit past its time counts as settled: no command reopens it. */
function requireOpenUnit(
  { unit, interaction }: AwaitCommandView,
  { id, project }: AwaitCommandRequest,
  now: Instant,
): Refuse | { readonly kind: 'open'; readonly unit: AwaitUnit; readonly interaction: Interaction } {
  if (unit === undefined || interaction === undefined || unit.project !== project) {
    return refuse({ why: 'await-unknown', id });
  }
  const isOverdue = unit.dueAt !== undefined && unit.dueAt <= now;
  if (isSettled(unit) || isOverdue) {
    const status = isSettled(unit) ? unit.status : timeOutStatus(unit);
    return refuse({ why: 'await-settled', id, status });
  }
  return { kind: 'open', unit, interaction };
}

/** Closes the unit because the execution ends. Its code gets no message (W-9). */
export function closedUnit(unit: AwaitUnit, now: Instant): AwaitUnit {
  return withNext({ ...unit, status: 'cancelled', settledAt: now, reminders: [] });
}

function timeOut(unit: AwaitUnit, interactions: readonly Interaction[], now: Instant): AwaitChange {
  const status = timeOutStatus(unit);
  return { ...settle(unit, { status, interactions, now }), interactions: [] };
}

/** `interactions` includes all answers (W-3). */
function settle(
  unit: AwaitUnit,
  how: {
    readonly status: Exclude<AwaitStatus, 'open'>;
    readonly interactions: readonly Interaction[];
    readonly now: Instant;
  },
): AwaitChange {
  const { status, interactions, now } = how;
  const settled = withNext({ ...unit, status, settledAt: now, reminders: [] });
  const byDefault = status === 'answered' && unit.answered < unit.needed;
  const body = settlementOf(unit, { status, interactions, byDefault });
  return {
    unit: settled,
    interactions: interactions.map((each) =>
      each.status === 'open' || each.status === 'queued' ? { ...each, status: 'closed' } : each,
    ),
    closesOthers: true,
    message: { kind: 'await-settled', name: unit.call, body },
  };
}

function conflict(id: InteractionId, winner: Answer): AwaitRefusal {
  return {
    why: 'answer-conflict',
    id,
    at: winner.at,
    ...(winner.actor === undefined ? {} : { actor: winner.actor }),
  };
}

function refuse(refusal: AwaitRefusal): Refuse {
  return { kind: 'refuse', refusal };
}

// The outcome of a unit, and its next due time. Pure.

/** The status of a unit whose time has passed (W-6). */
function timeOutStatus({ defaultAnswer }: AwaitUnit): 'timed-out' | 'answered' {
  return defaultAnswer === undefined ? 'timed-out' : 'answered';
}

/** The body that the engine reads. Payloads are already JSON, so this concatenates text. */
export function settlementOf(
  unit: AwaitUnit,
  how: {
    readonly status: AwaitStatus;
    readonly interactions: readonly Interaction[];
    readonly byDefault: boolean;
  },
): Payload {
  const answers = how.interactions
    .filter(({ answer, status }) => answer !== undefined && status === 'answered')
    .toSorted((a, b) => a.item - b.item)
    .map(({ item, answer }) => {
      const by = answer?.actor === undefined ? '' : `,"by":${JSON.stringify(answer.actor)}`;
      return `{"item":${item},"at":${answer?.at},"out":${answer?.value}${by}}`;
    });
  const fallback = how.byDefault ? `,"default":${unit.defaultAnswer}` : '';
  const clash = unit.clash === undefined ? '' : `,"clash":${JSON.stringify(unit.clash)}`;
  return `{"status":"${how.status}","answers":[${answers.join(',')}]${fallback}${clash}}` as Payload;
}

/**
 * Derives the next due time of an open unit, the earlier of reminder and timeout, so that no caller
 * forgets it.
 */
function withNext(unit: AwaitUnit): AwaitUnit {
  const { nextAt: _, ...rest } = unit;
  if (isSettled(rest)) return rest;
  const [reminder] = rest.reminders;
  const times = [
    ...(rest.dueAt === undefined ? [] : [rest.dueAt]),
    ...(reminder === undefined ? [] : [laterBy(rest.openedAt, reminder.afterMs)]),
  ];
  return times.length === 0 ? rest : { ...rest, nextAt: Math.min(...times) as Instant };
}
