// The model of all executions: which reply each write gets, and what it changes. See execution.ts.

import type { Payload } from '../../../src/execution/names.ts';
import type { AnswerRequest } from '../../../src/features/awaits/decide.ts';
import type { OpenAwait } from '../../../src/features/awaits/model.ts';
import { Eraser } from '../../../src/features/erasure/model.ts';
import type { Erase } from '../../../src/features/erasure/port.ts';
import type { Redrive } from '../../../src/features/repair/port.ts';
import type {
  Claimed,
  Command,
  Finish,
  GiveBack,
  MessageChild,
  OwnerWrite,
  Park,
  Signal,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import { formatInstant, toInstant } from '../../../src/support/clock.ts';
import {
  claim,
  deliver,
  type Entry,
  end,
  hasMessage,
  isOver,
  isPauseRequested,
  type ModelExecution,
  settle,
  submitted,
  timeOut,
  turnBack,
  type Unit,
} from './execution.ts';

/** The parts of a reply that the model predicts. */
export type Expected = Readonly<Record<string, unknown>>;

const refused = (why: string): Expected => ({ kind: 'refused', why });

/** Messages that a successor takes over. */
const INHERITED: readonly string[] = ['signal', 'pause', 'resume'];

const CANCELLED_OUTCOME = '{"status":"cancelled"}';

interface At {
  readonly at: number;
  /** True if the store had recorded the end of this session by then. */
  readonly hasEnded: (session: string) => boolean;
}

export interface State {
  readonly executions: Map<string, ModelExecution>;
  /** Outcomes of the items of bulk jobs (Y-23). */
  readonly items: Map<string, Expected>;
}

interface Terms {
  /** The execution is as this write left it, so the same write again is a replay. */
  readonly isSame: (execution: ModelExecution) => boolean;
  /** The last message that the owner has read, if it must have read all. */
  readonly inboxSeen?: number | undefined;
}

export class ExecutionsModel {
  #state: State = { executions: new Map(), items: new Map() };
  /** Executions that the last calls concerned. */
  readonly touched: Set<string> = new Set();
  readonly #catchUp: (execution: ModelExecution) => void;

  /** `catchUp` runs before a call concerns an execution. */
  constructor(catchUp: (execution: ModelExecution) => void) {
    this.#catchUp = catchUp;
  }

  /** By id, in the order of their submits. */
  get executions(): ReadonlyMap<string, ModelExecution> {
    return this.#state.executions;
  }

  /** A copy for a backup. */
  copy(): State {
    return structuredClone(this.#state);
  }

  restore(backup: State | undefined): void {
    this.#state = structuredClone(backup) ?? { executions: new Map(), items: new Map() };
  }

  /** The execution that a call concerns. */
  get(id: string): ModelExecution | undefined {
    if (this.executions.has(id)) this.touched.add(id);
    return this.current(id);
  }

  current(id: string): ModelExecution | undefined {
    const found = this.executions.get(id);
    if (found !== undefined) this.#catchUp(found);
    return found;
  }

  // Submits --------------------------------------------------------------------------------------

  /** */
  submit(request: Submit, { at }: At): Expected {
    const { id, key, project, intent } = request;
    const sameId = this.get(id);
    if (sameId !== undefined) {
      return sameId.submit.intent === intent && sameId.submit.project === project
        ? { kind: 'submitted', id, existing: true }
        : refused('id-taken');
    }
    const sameKey = this.#withKey(project, key);
    if (sameKey !== undefined) {
      return sameKey.submit.intent === intent
        ? { kind: 'submitted', id: sameKey.submit.id, existing: true }
        : refused('key-conflict');
    }
    this.insert(submitted(request, at));
    return { kind: 'submitted', id, existing: false };
  }

  insert(execution: ModelExecution): void {
    const { id } = execution.submit;
    this.#state.executions.set(id, execution);
    this.touched.add(id);
  }

  #withKey(project: string, key: string | undefined): ModelExecution | undefined {
    if (key === undefined) return undefined;
    for (const each of this.executions.values()) {
      if (each.key === key && each.submit.project === project) return each;
    }
    return undefined;
  }

  /** Children, and executions of schedules. One whose id or key is taken is left out. */
  submitAll(submits: readonly Submit[], at: number): void {
    for (const each of submits) {
      if (this.executions.has(each.id) || this.#withKey(each.project, each.key)) continue;
      this.insert(submitted(each, at));
    }
  }

  /** Y-20 to Y-23. */
  redrive(request: Redrive, { at }: At): Expected {
    const { job, of } = request;
    const item = `${job} ${of}`;
    const known = job === undefined ? undefined : this.#state.items.get(item);
    if (known !== undefined) return known;
    const outcome = this.#redriveOnce(request, at);
    // A repetition gets the same outcome as existing.
    if (job !== undefined)
      this.#state.items.set(item, {
        ...outcome,
        ...(outcome['id'] !== undefined && { existing: true }),
      });
    return outcome;
  }

  #redriveOnce({ of, project, submit, events, ...how }: Redrive, at: number): Expected {
    const old = this.get(of);
    if (old?.submit.project !== project) return refused('execution-unknown');
    if (this.executions.has(submit.id)) return { kind: 'submitted', id: submit.id, existing: true };
    if (!isOver(old)) return refused('not-ended');
    if (old.isErased) return refused('execution-erased');
    if (this.#hasOpenRedrive(of)) return refused('redrive-open');
    const execution = submitted(submit, at);
    execution.history.push(...events);
    execution.previous = 'given-back';
    if (how.compensable) execution.saga = 'compensable';
    if (how.compensating) Object.assign(execution, { saga: 'compensating', deadlineAt: undefined });
    this.insert(execution);
    return { kind: 'submitted', id: submit.id, existing: false };
  }

  #hasOpenRedrive(of: string): boolean {
    for (const each of this.executions.values()) {
      if (each.submit.redriveOf === of && !isOver(each)) return true;
    }
    return false;
  }

  // Claims ---------------------------------------------------------------------------------------

  /** Returns the problem, if it may not be claimed. */
  claim({ execution, fence, previous }: Claimed, { at, hasEnded }: At): string | undefined {
    const known = this.get(execution.id);
    if (known === undefined) return 'no write made it';
    // A claim whose reply was lost is returned again.
    if (known.fence === fence && known.status === 'running') return undefined;
    const problem = problemOf(known, { previous, at, hasEnded });
    claim(known, { fence, session: execution.session ?? '' });
    return problem;
  }

  // Owners ---------------------------------------------------------------------------------------

  record(request: OwnerWrite, when: At): Expected {
    const known = this.#owned(request, when, { isSame: () => true });
    if ('kind' in known) return known;
    this.#carry(known, request, when.at);
    return { kind: 'recorded', inboxCount: known.inbox.length };
  }

  /** */
  park(request: Park, when: At): Expected {
    const known = this.#owned(request, when, isFree(request));
    if ('kind' in known) return known;
    const { wakeInMs, wakeAfter, compensable } = request;
    Object.assign(known, {
      ...{ status: 'waiting', session: undefined, wakeAfter, previous: 'parked' },
      readyAt: wakeInMs === undefined ? undefined : when.at + wakeInMs,
    });
    if (known.saga !== 'compensating') known.saga = compensable === true ? 'compensable' : 'none';
    this.#carry(known, request, when.at);
    return { kind: 'parked' };
  }

  giveBack(request: GiveBack, when: At): Expected {
    const known = this.#owned(request, when, isFree(request));
    if ('kind' in known) return known;
    const { delayMs = 0, blocked = false, paused = false, compensable, compensating } = request;
    Object.assign(known, {
      ...{ status: 'queued', session: undefined, readyAt: when.at + delayMs },
      ...{ previous: 'given-back', isPaused: paused, isBlocked: blocked },
    });
    if (known.saga !== 'compensating') known.saga = compensable === true ? 'compensable' : 'none';
    if (compensating === true) {
      known.saga = 'compensating';
      known.deadlineAt = undefined;
    }
    this.#carry(known, request, when.at);
    return { kind: 'given-back' };
  }

  /** */
  finish(request: Finish, when: At): Expected {
    const { successor, status, inboxSeen, outcome, unread = [] } = request;
    const known = this.#owned(request, when, {
      isSame: (execution) => execution.status === status,
      inboxSeen: successor === undefined ? inboxSeen : undefined,
    });
    if ('kind' in known) return known;
    end(known, status, when.at);
    this.#carry(known, request, when.at);
    if (successor === undefined) this.#reportToParent(known, outcome, when.at);
    else if (!this.executions.has(successor.id)) {
      const left = known.inbox.filter(
        (_, index) => index + 1 > (inboxSeen ?? 0) || unread.includes(index + 1),
      );
      this.#succeed(known, { successor, left, at: when.at });
    }
    return { kind: 'finished' };
  }

  #succeed(
    ended: ModelExecution,
    { successor, left, at }: { successor: Submit; left: readonly Entry[]; at: number },
  ): void {
    const next = submitted({ ...successor, intent: ended.submit.intent } as Submit, at);
    next.key = ended.key;
    ended.key = undefined;
    next.inbox.push(...left.filter(({ kind }) => INHERITED.includes(kind)));
    this.insert(next);
    const cancel = left.find(({ kind }) => kind === 'cancel');
    if (cancel !== undefined) this.#cancel(next, cancel.body ?? '{}', at);
  }

  /** */
  #reportToParent({ submit }: ModelExecution, body: string | undefined, at: number): void {
    const { parent, project } = submit;
    const found = parent === undefined ? undefined : this.get(parent.id);
    if (found === undefined || isOver(found) || found.submit.project !== project) return;
    deliver(found, { kind: 'child-ended', name: parent?.call, body }, at);
  }

  /** Children and questions of an owner's write (X-13, W-1). */
  #carry(known: ModelExecution, { children = [], awaits = [] }: OwnerWrite, at: number): void {
    this.submitAll(children, at);
    if (!isOver(known)) for (const each of awaits) open(known, each, at);
  }

  /**
   * Appends the events of an owner that may write. Otherwise returns the reply:
   * a refusal, or the first reply again.
   */
  #owned(
    request: OwnerWrite,
    { hasEnded }: At,
    { isSame, inboxSeen = Infinity }: Terms,
  ): ModelExecution | (Expected & { readonly kind: string }) {
    const { id, fence, session, seq, events, project } = request;
    const refuse = (why: string) => ({ kind: 'refused', why });
    const known = this.get(id);
    if (known === undefined) return refuse('execution-unknown');
    if (project !== undefined && known.submit.project !== project)
      return refuse('execution-unknown');
    if (isStored(known, request) && isSame(known)) return { kind: 'replayed' };
    if (known.fence === undefined) return refuse('not-running');
    if (fence !== known.fence) return refuse('superseded');
    if (known.status !== 'running') return refuse('not-running');
    if (session !== known.session || hasEnded(session)) return refuse('claim-ended');
    if (events.length > 0 && seq !== known.history.length + 1) return refuse('seq-taken');
    if (known.inbox.length > inboxSeen) return refuse('unread-messages');
    known.history.push(...events.map((event) => ({ ...event, fence })));
    return known;
  }

  // Commands -------------------------------------------------------------------------------------

  /** Y-8. */
  cancel(request: Command, when: At): Expected {
    return this.#command(request, (known) => this.#cancelOpen(known, request.body, when.at));
  }

  #cancelOpen(known: ModelExecution, body: string, at: number): string {
    if (known.saga === 'compensating') return 'no-change';
    if (known.status === 'running') {
      if (hasMessage(known, 'cancel')) return 'no-change';
      deliver(known, { kind: 'cancel', body }, at);
      return 'forwarded';
    }
    if (known.saga === 'compensable') {
      turnBack(known, `{"status":"cancelled","asked":${body}}`, at);
    } else this.#cancel(known, body, at);
    return 'done';
  }

  #cancel(known: ModelExecution, body: string, at: number): void {
    known.history.push({ kind: 'cancelled', body });
    end(known, 'cancelled', at);
    this.#reportToParent(known, CANCELLED_OUTCOME, at);
  }

  /** */
  pause({ body, ...request }: Command, { at }: At): Expected {
    return this.#command({ body, ...request }, (known) => {
      if (known.status === 'running') {
        if (isPauseRequested(known)) return 'no-change';
        deliver(known, { kind: 'pause', body }, at);
        return 'forwarded';
      }
      if (known.isPaused) return 'no-change';
      known.history.push({ kind: 'paused', body });
      known.isPaused = true;
      return 'done';
    });
  }

  /** */
  resume({ body, ...request }: Command, { at }: At): Expected {
    return this.#command({ body, ...request }, (known) => {
      const isHeld = known.isPaused || known.isBlocked;
      const isRequested = isPauseRequested(known);
      const isRunning = known.status === 'running';
      if (!isHeld && !isRequested) return 'no-change';
      if (isHeld) {
        known.history.push({ kind: 'resumed', body });
        Object.assign(known, { isPaused: false, isBlocked: false });
      }
      if (isRequested) deliver(known, { kind: 'resume', body }, at);
      return isRunning ? 'forwarded' : 'done';
    });
  }

  /** */
  signal({ name, body, key, ...request }: Signal, { at }: At): Expected {
    const { submit, inbox = [], status } = this.get(request.id) ?? {};
    // also if the execution has ended since.
    const isRepeated = key !== undefined && inbox.some((message) => message.key === key);
    if (isRepeated && submit?.project === request.project) return { kind: 'no-change', status };
    return this.#command({ body, ...request }, (execution) => {
      // An execution that its deadline turned back has none any more.
      if (execution.deadlineAt !== undefined && execution.deadlineAt <= at) return undefined;
      const isRunning = execution.status === 'running';
      deliver(execution, { kind: 'signal', name, body, key }, at);
      return isRunning ? 'forwarded' : 'done';
    });
  }

  /** */
  messageChild(request: MessageChild, when: At): Expected {
    const { id, fence, session, project, child, message } = request;
    const known = this.get(id);
    const isOfClaim = known?.fence === fence && known.session === session;
    const isOwner = isOfClaim && known.submit.project === project && !when.hasEnded(session);
    if (!isOwner || this.get(child)?.submit.parent?.id !== id) return refused('claim-ended');
    if (message.kind === 'cancel') {
      const body = JSON.stringify({ by: `execution ${id}`, reason: message.reason }) as Payload;
      return this.cancel({ id: child, project, body }, when);
    }
    const { name, key, out } = message;
    return this.signal({ id: child, project, name, key, body: `{"out":${out}}` as Payload }, when);
  }

  /** F-13, F-16. */
  erase({ id, project }: Erase): Expected {
    const known = this.get(id);
    if (known?.submit.project !== project) return refused('execution-unknown');
    if (!isOver(known)) return refused('not-ended');
    const isNew = !known.isErased;
    known.isErased = true;
    return { kind: 'erased', isNew, archived: false };
  }

  /** */
  #command(
    { id, project }: Command,
    action: (execution: ModelExecution) => string | undefined,
  ): Expected {
    const known = this.get(id);
    if (known?.submit.project !== project) return refused('execution-unknown');
    if (isOver(known)) return refused('already-ended');
    const kind = action(known);
    return kind === undefined ? refused('deadline-passed') : { kind, status: known.status };
  }

  // Time -----------------------------------------------------------------------------------------

  /** a passed deadline ends an execution that no worker runs. */
  overdue(known: ModelExecution, at: number): void {
    const { deadlineAt = 0 } = known;
    const message = `Not ended by its deadline, ${formatInstant(toInstant(deadlineAt))}.`;
    const failure = { category: 'permanent', code: 'deadline-passed', message };
    const outcome = JSON.stringify({ status: 'failed', failure });
    if (known.saga === 'compensable') {
      turnBack(known, outcome, at);
      return;
    }
    known.history.push({ kind: 'failed', body: JSON.stringify({ failure }) });
    end(known, 'failed', at);
    this.#reportToParent(known, outcome, at);
  }

  /** a child of an ended parent. Returns whether that changed anything. */
  orphaned(
    known: ModelExecution,
    { body, at }: { readonly body: string; readonly at: number },
  ): boolean {
    return this.#cancelOpen(known, body, at) !== 'no-change';
  }

  // Answers --------------------------------------------------------------------------------------

  /** W-2 to W-5, W-12. */
  answer({ id, project, place, value, digest, actor }: AnswerRequest, { at }: At): Expected {
    const known = this.#asked(id) ?? (place && this.get(place.execution));
    if (known?.submit.project !== project) return refused('await-unknown');
    const unit = unitOf(known, id);
    const given = unit?.answers.get(id) ?? known.early.get(id);
    if (given !== undefined && !known.closed.has(id)) {
      return given.digest === digest ? { kind: 'existing' } : refused('answer-conflict');
    }
    if (unit === undefined && !known.closed.has(id)) {
      const isAsked = place !== undefined && known.units.has(place.call);
      if (place === undefined || isAsked || isOver(known)) return refused('await-unknown');
      known.early.set(id, { value, digest, actor, at, call: place.call });
      return { kind: 'kept' };
    }
    if (unit?.status !== 'open') return refused('answer-late');
    if (unit.dueAt !== undefined && unit.dueAt <= at) {
      timeOut(known, unit, at);
      return refused('answer-late');
    }
    unit.answers.set(id, { value, digest, actor, at });
    const settled = unit.answers.size >= unit.needed;
    if (settled) settle(known, unit, { status: 'answered', at });
    return { kind: 'answered', settled };
  }

  /** The execution of a question that was asked, or answered before it was. */
  #asked(id: string): ModelExecution | undefined {
    for (const each of this.executions.values()) {
      if (each.early.has(id) || unitOf(each, id) !== undefined) return this.get(each.submit.id);
    }
    return undefined;
  }
}

function unitOf({ units }: ModelExecution, id: string): Unit | undefined {
  for (const unit of units.values()) if (unit.items.includes(id)) return unit;
  return undefined;
}

/** W-1, W-2. */
function open(known: ModelExecution, request: OpenAwait, at: number): void {
  const { call, needed, items, timeoutMs, defaultAnswer } = request;
  if (known.units.has(call)) return;
  const ids = items.map(({ id }) => id as string);
  const early = ids
    .flatMap((id) => {
      const given = known.early.get(id);
      return given === undefined ? [] : [[id, given] as const];
    })
    .sort(([, a], [, b]) => a.at - b.at);
  const unit: Unit = {
    ...{ call, needed, items: ids, defaultAnswer, status: 'open' },
    dueAt: timeoutMs === undefined ? undefined : at + timeoutMs,
    answers: new Map(early.slice(0, needed)),
  };
  for (const id of ids) known.early.delete(id);
  known.units.set(call, unit);
  if (unit.answers.size >= needed) settle(known, unit, { status: 'answered', at });
}

/** A park or a give-back is repeated only after its claim. */
function isFree({ fence, inboxSeen }: Park | GiveBack): Terms {
  const isSame = (execution: ModelExecution): boolean =>
    execution.status !== 'running' || execution.fence !== fence;
  return { isSame, inboxSeen };
}

/** Equal events are stored under the same fence. An erased value cannot be compared (F-13). */
function isStored(
  { history, isErased }: ModelExecution,
  { seq, fence, events }: OwnerWrite,
): boolean {
  if (events.length === 0) return false;
  return events.every(({ kind, name, body }, index) => {
    const stored = history[seq - 1 + index];
    return (
      stored?.kind === kind &&
      stored.name === name &&
      stored.body === body &&
      stored.fence === fence &&
      (!isErased || new Eraser().body(body ?? '') === body)
    );
  });
}

function problemOf(
  known: ModelExecution,
  { previous, at, hasEnded }: At & { readonly previous: string },
): string | undefined {
  if (isOver(known)) return `it had ended as ${known.status}`;
  if (known.status === 'running') {
    if (!hasEnded(known.session ?? '')) return `session ${known.session} runs it`;
    return previous === 'lost' ? undefined : `its last claim was lost, not ${previous}`;
  }
  if (known.isPaused) return 'it was paused';
  if (known.isBlocked) return 'it was blocked';
  if (known.readyAt === undefined) return 'it waited';
  // A rate key moves the time; the row is compared after every write.
  const isKeyed = known.submit.rate !== undefined || known.submit.concurrency !== undefined;
  if (!isKeyed && known.readyAt > at) return `it was not ready before ${known.readyAt - at} ms`;
  return previous === known.previous
    ? undefined
    : `its last claim ended as ${known.previous}, not ${previous}`;
}
