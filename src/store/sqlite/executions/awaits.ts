// What the verbs about awaits share: opening with an owner's write, and what becomes of a change. They are
// rare beside steps, so they read first; the write lock is held.

import { isTerminal } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { changedByAnswer, changedByAwaitCommand } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import {
  type AnswerRequest,
  type AnswerView,
  type AwaitChange,
  type AwaitCommandDecision,
  type AwaitCommandView,
  decideAnswer,
  decideAssign,
  decideCancelAwait,
  decideDue,
  decideExtend,
  decideOpen,
  type LateAnswer,
} from '../../../features/awaits/decide.ts';
import {
  type AwaitUnit,
  type Interaction,
  LATE_ANSWERS_MAX,
  type OpenAwait,
} from '../../../features/awaits/model.ts';
import type {
  AnswerTaken,
  AssignAwait,
  AwaitAnswer,
  AwaitCommand,
  AwaitsExpired,
  ExpireAwaits,
  ExtendAwait,
} from '../../../features/awaits/port.ts';
import {
  type AwaitUnitRow,
  fromAwaitUnit,
  fromInteraction,
  INTERACTION_CODES,
  toAwaitUnit,
} from '../../../features/awaits/rows.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { deliver } from './deliver.ts';
import {
  awaitView,
  INTERACTION_COLUMNS,
  loadAnswered,
  loadUnit,
  UNIT_COLUMNS,
} from './load-await.ts';
import { loadExecution } from './load-execution.ts';
import { submit } from './submit.ts';

const PUT_UNIT = `
  insert into await_unit (${UNIT_COLUMNS})
  values (:execution_id, :call, :project, :pipeline, :name, :status, :items, :needed, :answered,
          :opened_at, :settled_at, :due_at, :next_at, :about)
  on conflict (execution_id, call) do update
     set status = excluded.status,
         answered = excluded.answered,
         settled_at = excluded.settled_at,
         due_at = excluded.due_at,
         next_at = excluded.next_at,
         about = excluded.about`;

// One that was answered early is there before its unit is.
const PUT_INTERACTION = `
  insert into interaction (${INTERACTION_COLUMNS}, name)
  values (:id, :execution_id, :call, :item, :project, :status, :request, :assignee,
          :answer, :digest, :answered_by, :answered_at, :verified, :late, :name)
  on conflict (id) do update
     set status = excluded.status,
         request = excluded.request,
         assignee = excluded.assignee,
         answer = excluded.answer,
         digest = excluded.digest,
         answered_by = excluded.answered_by,
         answered_at = excluded.answered_at,
         verified = excluded.verified,
         late = excluded.late,
         name = excluded.name
   where interaction.execution_id = excluded.execution_id -- guard: own`;

const CLOSE_OTHERS = `
  update interaction
     set status = ${INTERACTION_CODES.closed}
   where execution_id = :execution
     and call = :call
     and status = ${INTERACTION_CODES.open} -- guard: open`;

// By how many there were before.
const KEEP_LATE = `
  insert into late_answer (interaction_id, n, answer, digest, answered_by, answered_at)
  select id, late + 1, :value, :digest, :by, :at
    from interaction
   where id = :id
     and late < ${LATE_ANSWERS_MAX} -- guard: room`;

/** W-1: with its owner's write; one that is there already is left alone. How much news that was. */
export function openAwaits(tx: Transaction, id: ExecutionId, awaits: readonly OpenAwait[]): number {
  const execution = loadExecution(tx, id);
  assert(execution !== undefined, 'W-1: whoever opens an await is stored');
  // W-9: what ends leaves nothing pending.
  if (isTerminal(execution.status)) return 0;
  let news = 0;
  for (const open of awaits) {
    const place = { execution: id, call: open.call };
    if (loadUnit(tx, place) !== undefined) continue;
    const early = loadAnswered(tx, place, 'early');
    if (applyChange(tx, decideOpen(open, { execution, early }, tx.now))) news += 1;
  }
  return news;
}

/** Whether the execution was told. */
export function applyChange(tx: Transaction, change: AwaitChange): boolean {
  const { unit, interactions, closesOthers, late = [], message } = change;
  const { execution, call, name } = unit;
  putUnit(tx, unit);
  // Their interactions count them already.
  for (const each of late) keepLate(tx, each);
  for (const each of interactions) putInteraction(tx, each, name);
  if (closesOthers) tx.run(CLOSE_OTHERS, { execution, call });
  if (message === undefined) return false;
  const { kind, name: about = null, body = null } = message;
  const told = deliver(tx, execution, { kind, name: about, body });
  // The next heartbeat makes the holder look.
  if (told?.session !== undefined) tx.notify(told.session);
  return told !== undefined;
}

export function putUnit(tx: Transaction, unit: AwaitUnit): void {
  tx.run(PUT_UNIT, { ...fromAwaitUnit(unit) });
}

export function putInteraction(
  tx: Transaction,
  interaction: Interaction,
  name: string | null,
): void {
  const row = fromInteraction(interaction);
  tx.run(PUT_INTERACTION, { ...row, verified: Number(row.verified), name });
}

/** W-5: while there is room. */
export function keepLate(tx: Transaction, { id, answer }: LateAnswer): void {
  const { value, digest, by = null, at } = answer;
  tx.run(KEEP_LATE, { id, value, digest, by, at });
}

/** W-8. */
export function obeyAwait<Request extends AwaitCommand>(
  tx: Transaction,
  request: Request,
  decide: (view: AwaitCommandView, request: Request, now: Instant) => AwaitCommandDecision,
): AwaitAnswer {
  const view = awaitView(tx, request.id);
  const decision = decide(view, request, tx.now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  play(tx, writeAudit(request, changedByAwaitCommand(view, decision), tx.now));
  applyChange(tx, decision.change);
  return { kind: 'done' };
}

export function assignAwait(tx: Transaction, request: AssignAwait): AwaitAnswer {
  return obeyAwait(tx, request, decideAssign);
}

export function cancelAwait(tx: Transaction, request: AwaitCommand): AwaitAnswer {
  return obeyAwait(tx, request, decideCancelAwait);
}

export function extendAwait(tx: Transaction, request: ExtendAwait): AwaitAnswer {
  return obeyAwait(tx, request, decideExtend);
}

// W-5: counted always, kept while there is room.
const COUNT_LATE = `
  update interaction
     set late = late + 1
   where id = :id`;

// W-9: its end looks for it.
const NOTE_EARLY = `
  update execution
     set early = 1
   where id = :execution`;

export function answer(tx: Transaction, request: AnswerRequest & Audited): AnswerTaken {
  const view = answerView(tx, request);
  const decision = decideAnswer(view, request, tx.now);
  play(tx, writeAudit(request, changedByAnswer(view, decision), tx.now));
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'existing':
      return { kind: 'existing', settled: false };
    case 'keep-early':
      putInteraction(tx, decision.interaction, null);
      tx.run(NOTE_EARLY, { execution: decision.interaction.execution });
      return { kind: 'kept', settled: false };
    case 'apply':
      applyChange(tx, decision.change);
      return { kind: 'answered', settled: decision.change.unit.status !== 'open' };
    case 'late':
      if (decision.change !== undefined) applyChange(tx, decision.change);
      keepLate(tx, { id: request.id, answer: decision.answer });
      tx.run(COUNT_LATE, { id: request.id });
      return { kind: 'refused', ...decision.refusal };
  }
}

/** Of what is not there yet, where it would be (W-2). */
function answerView(tx: Transaction, { id, place }: AnswerRequest): AnswerView {
  const view = awaitView(tx, id);
  if (view.interaction !== undefined || place === undefined) {
    return { ...view, execution: undefined };
  }
  return { ...view, unit: loadUnit(tx, place), execution: loadExecution(tx, place.execution) };
}

const DUE = `
  select ${UNIT_COLUMNS}
    from await_unit indexed by await_unit_next
   where next_at is not null
     and next_at <= :now
   order by next_at
   limit :limit`;

const DUE_OF = `
  select ${UNIT_COLUMNS}
    from await_unit
   where execution_id = :execution
     and next_at <= :now
   order by next_at
   limit :limit`;

const NEXT = 'select min(next_at) as next_at from await_unit where next_at is not null';

/** W-6. */
export function expireAwaits(tx: Transaction, { execution, limit }: ExpireAwaits): AwaitsExpired {
  const page = { now: tx.now, limit: limit + 1 };
  const rows =
    execution === undefined
      ? tx.all<AwaitUnitRow>(DUE, page)
      : tx.all<AwaitUnitRow>(DUE_OF, { ...page, execution });
  let [settled, started] = [0, 0];
  for (const row of rows.slice(0, limit)) {
    const done = expire(tx, toAwaitUnit(row));
    settled += done.settled;
    started += done.started;
  }
  const next = tx.get<{ next_at: number | null }>(NEXT)?.next_at ?? null;
  return {
    settled,
    started,
    more: rows.length > limit,
    ...(next === null ? {} : { nextInMs: Math.max(0, next - tx.now) }),
  };
}

function expire(
  tx: Transaction,
  unit: AwaitUnit,
): { readonly settled: number; readonly started: number } {
  const due = decideDue({ unit, answered: () => loadAnswered(tx, unit) }, tx.now);
  if (due === undefined) return { settled: 0, started: 0 };
  applyChange(tx, due.change);
  const answers = due.starts.map((start) => submit(tx, start));
  return {
    settled: due.change.unit.status === 'open' ? 0 : 1,
    started: answers.filter((each) => each.kind === 'submitted' && !each.existing).length,
  };
}
