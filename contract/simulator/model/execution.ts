// The model of one execution, written from the specification alone: it shares no code with the stores
// and the engine. The checker applies every write that the store has committed, in the same order, and
// both must agree.

import type { Submit } from '../../../src/store/contract/execution-store.ts';

/** One event or one message. */
export interface Entry {
  readonly kind: string;
  readonly name?: string | undefined;
  readonly body?: string | undefined;
  /** Only signals have one. */
  readonly key?: string | undefined;
  /** Only events of owners have one. */
  readonly fence?: number | undefined;
}

/** One question of an execution. */
export interface Unit {
  readonly call: string;
  readonly needed: number;
  readonly items: readonly string[];
  readonly dueAt: number | undefined;
  readonly defaultAnswer: string | undefined;
  status: 'open' | 'answered' | 'timed-out' | 'cancelled';
  /** The winning answers, by the id of the interaction. */
  readonly answers: Map<string, Given>;
}

/** An answer. */
export interface Given {
  readonly value: string;
  readonly digest: string;
  readonly actor: string | undefined;
  readonly at: number;
}

export interface ModelExecution {
  readonly submit: Submit;
  status: string;
  key: string | undefined;
  isPaused: boolean;
  isBlocked: boolean;
  readyAt: number | undefined;
  deadlineAt: number | undefined;
  endedAt: number | undefined;
  wakeAfter: number;
  fence: number | undefined;
  session: string | undefined;
  previous: 'none' | 'parked' | 'given-back';
  saga: 'none' | 'compensable' | 'compensating';
  /** The length of the history when it was claimed. */
  claimedSeq: number;
  losses: number;
  /** Its values are gone, and their digests stay (F-13). */
  isErased: boolean;
  readonly history: Entry[];
  readonly inbox: Entry[];
  readonly units: Map<string, Unit>;
  /** Answers that came before their questions, by the id of the interaction. */
  readonly early: Map<string, Given & { readonly call: string }>;
  /** Interactions that take no more answers. */
  readonly closed: Set<string>;
}

export function isOver({ status }: ModelExecution): boolean {
  return status !== 'queued' && status !== 'running' && status !== 'waiting';
}

/** */
export function submitted(submit: Submit, at: number): ModelExecution {
  const { key, delayMs = 0, deadlineMs, body } = submit;
  return {
    submit,
    ...{ status: 'queued', key, isPaused: false, isBlocked: false, readyAt: at + delayMs },
    deadlineAt: deadlineMs === undefined ? undefined : at + deadlineMs,
    ...{ endedAt: undefined, wakeAfter: 0, fence: undefined, session: undefined },
    ...{ previous: 'none', saga: 'none', claimedSeq: 0, losses: 0, isErased: false },
    ...{ history: [{ kind: 'submitted', body }], inbox: [] },
    ...{ units: new Map(), early: new Map(), closed: new Set() },
  };
}

/** */
export function deliver(execution: ModelExecution, message: Entry, at: number): void {
  execution.inbox.push(message);
  if (execution.status !== 'waiting') return;
  if (message.kind === 'child-ended') {
    execution.wakeAfter = Math.max(0, execution.wakeAfter - 1);
    if (execution.wakeAfter > 0) return;
  }
  execution.status = 'queued';
  execution.readyAt = Math.min(execution.readyAt ?? at, at);
}

/** X-14, W-9: what every end does to the execution itself. */
export function end(execution: ModelExecution, status: string, at: number): void {
  Object.assign(execution, {
    ...{ status, endedAt: at, session: undefined, readyAt: undefined },
    ...{ isPaused: false, isBlocked: false, wakeAfter: 0 },
    ...(execution.saga === 'compensable' && { saga: 'none' }),
  });
  for (const unit of execution.units.values()) {
    if (unit.status === 'open') closeUnit(execution, unit, 'cancelled');
  }
  for (const id of execution.early.keys()) execution.closed.add(id);
}

/** Y-8: cancel and deadline of an execution that has something to undo. */
export function turnBack(execution: ModelExecution, body: string, at: number): void {
  execution.history.push({ kind: 'compensating', body });
  Object.assign(execution, {
    ...{ status: 'queued', readyAt: at, wakeAfter: 0, saga: 'compensating' },
    deadlineAt: undefined,
  });
}

/** */
export function claim(
  execution: ModelExecution,
  { fence, session }: { readonly fence: number; readonly session: string },
): void {
  const isLost = execution.status === 'running';
  const hasProgress = execution.history.length > execution.claimedSeq;
  if (!isLost) execution.losses = 0;
  else execution.losses = hasProgress ? 1 : execution.losses + 1;
  execution.history.push({ kind: 'claimed', fence });
  execution.claimedSeq = execution.history.length;
  Object.assign(execution, { status: 'running', fence, session, readyAt: undefined, wakeAfter: 0 });
}

export function hasMessage({ inbox }: ModelExecution, kind: string): boolean {
  return inbox.some((message) => message.kind === kind);
}

/** The newest pause or resume in the inbox is a pause, so an owner may still act on it. */
export function isPauseRequested({ inbox }: ModelExecution): boolean {
  return inbox.findLast(({ kind }) => kind === 'pause' || kind === 'resume')?.kind === 'pause';
}

/** Unanswered interactions of a settled unit are closed (W-3). */
export function closeUnit(
  { closed }: ModelExecution,
  unit: Unit,
  status: Exclude<Unit['status'], 'open'>,
): void {
  unit.status = status;
  for (const id of unit.items) if (!unit.answers.has(id)) closed.add(id);
}

/** Settles a unit and sends its message (W-3, W-6). */
export function settle(
  execution: ModelExecution,
  unit: Unit,
  { status, at }: { readonly status: Exclude<Unit['status'], 'open'>; readonly at: number },
): void {
  const isDefault = status === 'answered' && unit.answers.size < unit.needed;
  closeUnit(execution, unit, status);
  const answers = unit.items.flatMap((id, item) => {
    const given = unit.answers.get(id);
    if (given === undefined) return [];
    const by = given.actor === undefined ? '' : `,"by":${JSON.stringify(given.actor)}`;
    return [`{"item":${item},"at":${given.at},"out":${given.value}${by}}`];
  });
  const fallback = isDefault ? `,"default":${unit.defaultAnswer}` : '';
  const body = `{"status":"${status}","answers":[${answers.join(',')}]${fallback}}`;
  deliver(execution, { kind: 'await-settled', name: unit.call, body }, at);
}

/** A unit whose time has passed (W-6). */
export function timeOut(execution: ModelExecution, unit: Unit, at: number): void {
  const status = unit.defaultAnswer === undefined ? 'timed-out' : 'answered';
  settle(execution, unit, { status, at });
}
