import type { CallKey, ExecutionId } from '../../../execution/names.ts';
import { auditOf, changedByAnswer } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import {
  type AnswerDecision,
  type AnswerRequest,
  type AwaitChange,
  decideAnswer,
  decideDue,
} from '../../../features/awaits/decide.ts';
import type { Interaction } from '../../../features/awaits/model.ts';
import type { AnswerTaken, AwaitsExpired, ExpireAwaits } from '../../../features/awaits/port.ts';
import { assert } from '../../../support/assert.ts';
import type { Submit } from '../../contract/execution-store.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { writeAudit } from './audit.ts';
import { applyAll, type LockedAwait, lockAwait } from './awaits.ts';
import { insertWithPlaces } from './insert-executions.ts';
import type { Parts } from './parts.ts';
import { countLate, keepLate, saveInteractions, type UnitPlace } from './unit-rows.ts';

export async function answer(parts: Parts, request: AnswerRequest & Audited): Promise<AnswerTaken> {
  const { id, place } = request;
  let isTold = false;
  const taken = await persistently(parts.surroundings, () =>
    parts.database.attempt<AnswerTaken>(async (queries) => {
      const view = await lockAwait(queries, {
        id,
        place,
        maySettle: (unit, now) =>
          unit.answered + 1 >= unit.needed || (unit.dueAt !== undefined && unit.dueAt <= now),
      });
      const decision = decideAnswer(view, request, view.now);
      await writeAudit(queries, [auditOf(request, changedByAnswer(view, decision), view.now)]);
      isTold = changeOf(decision)?.message !== undefined;
      return carryOut(queries, view, decision);
    }, parts.boundaries),
  );
  if (isTold) parts.bell.ring();
  return taken;
}

function changeOf(decision: AnswerDecision): AwaitChange | undefined {
  return decision.kind === 'apply' || decision.kind === 'late' ? decision.change : undefined;
}

async function carryOut(
  queries: Queries,
  view: LockedAwait,
  decision: AnswerDecision,
): Promise<Attempted<AnswerTaken>> {
  switch (decision.kind) {
    case 'refuse':
      return { keep: false, result: { kind: 'refused', ...decision.refusal } };
    case 'existing':
      return { keep: false, result: { kind: 'existing', settled: false } };
    case 'keep-early':
      await keepEarly(queries, decision.interaction);
      return { keep: true, result: { kind: 'kept', settled: false } };
    case 'apply': {
      const settled = decision.change.unit.status !== 'open';
      await apply(queries, view, decision.change);
      return { keep: true, result: { kind: 'answered', settled } };
    }
    case 'late': {
      const { id } = decision.interaction;
      if (decision.change !== undefined) await apply(queries, view, decision.change);
      await countLate(queries, id);
      await keepLate(queries, { id, answer: decision.answer });
      return { keep: true, result: { kind: 'refused', ...decision.refusal } };
    }
  }
}

async function apply(
  queries: Queries,
  { execution, now }: LockedAwait,
  change: AwaitChange,
): Promise<void> {
  assert(execution !== undefined, 'W-1: a unit is of an execution that exists');
  await applyAll(queries, execution, { changes: [change], now });
}

// W-9: its end looks for it.
const NOTE_EARLY = statement(`
  update hf.execution e
     set early = true
   where e.id = $1
     and not e.early`);

/** W-2: the execution is locked, so nobody opens its unit meanwhile. */
async function keepEarly(queries: Queries, interaction: Interaction): Promise<void> {
  await saveInteractions(queries, [{ interaction }]);
  await queries.rows(NOTE_EARLY, [interaction.execution]);
}

// One more than asked for: what is not due yet says when the next is. Looked at again under the lock.
const NEXT = statement(`
  select u.execution_id, u.call, u.next_at - hf_now() as in_ms
    from hf.await_unit u
   where u.next_at is not null
   order by u.next_at
   limit $1`);

// Only the primary key fits.
const DUE_OF = statement(`
  select u.execution_id, u.call, 0 as in_ms
    from hf.await_unit u
   where u.execution_id = $1
     and coalesce(u.next_at <= hf_now(), false)
   order by u.next_at
   limit $2`);

interface DueRow {
  readonly execution_id: ExecutionId;
  readonly call: CallKey;
  readonly in_ms: number;
}

/** W-6. */
export async function expireAwaits(
  parts: Parts,
  { execution, limit }: ExpireAwaits,
): Promise<AwaitsExpired> {
  const { database } = parts;
  const found =
    execution === undefined
      ? await database.rows<DueRow & object>(NEXT, [limit + 1])
      : await database.rows<DueRow & object>(DUE_OF, [execution, limit + 1]);
  const due = found.filter((row) => row.in_ms <= 0);
  let [settled, started] = [0, 0];
  for (const { execution_id, call } of due.slice(0, limit)) {
    const done = await expire(parts, { execution: execution_id, call });
    if (done.settled) settled += 1;
    started += done.started;
  }
  if (settled + started > 0) parts.bell.ring();
  const isAsIs = execution === undefined && due.length === 0;
  const [next] = isAsIs ? found : await database.rows<DueRow & object>(NEXT, [1]);
  return {
    settled,
    started,
    more: due.length > limit,
    ...(next === undefined ? {} : { nextInMs: Math.max(0, next.in_ms) }),
  };
}

interface Expired {
  readonly settled: boolean;
  readonly started: number;
}

const NOTHING: Expired = { settled: false, started: 0 };

function expire(parts: Parts, place: UnitPlace): Promise<Expired> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt<Expired>(async (queries: Queries) => {
      const maySettle = (): boolean => true;
      const { execution, unit, now, answered } = await lockAwait(queries, { place, maySettle });
      const due = unit === undefined ? undefined : decideDue({ unit, answered }, now);
      if (due === undefined) return { keep: false, result: NOTHING };
      assert(execution !== undefined, 'W-1: a unit is of an execution that exists');
      await applyAll(queries, execution, { changes: [due.change], now });
      const settled = due.change.unit.status !== 'open';
      return { keep: true, result: { settled, started: await start(queries, due.starts) } };
    }, parts.boundaries),
  );
}

/** What has the id or the key already was started before, or is somebody else's. */
async function start(queries: Queries, starts: readonly Submit[]): Promise<number> {
  if (starts.length === 0) return 0;
  const inserted = await insertWithPlaces(queries, starts, false);
  return inserted.filter((each) => each === true).length;
}
