import { auditOf, changedByAnswer } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import {
  type AnswerDecision,
  type AnswerRequest,
  type AwaitChange,
  decideAnswer,
} from '../../../features/awaits/decide.ts';
import type { Interaction } from '../../../features/awaits/model.ts';
import type { AnswerTaken } from '../../../features/awaits/port.ts';
import { assert } from '../../../support/assert.ts';
import { persistently } from '../committer.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { writeAudit } from './audit.ts';
import { applyAll, type LockedAwait, lockAwait } from './awaits.ts';
import type { Parts } from './parts.ts';
import { countLate, keepLate, saveInteractions } from './unit-rows.ts';

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
