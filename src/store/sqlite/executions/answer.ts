import { changedByAnswer } from '../../../features/audit/decide.ts';
import type { Audited } from '../../../features/audit/model.ts';
import {
  type AnswerRequest,
  type AnswerView,
  decideAnswer,
} from '../../../features/awaits/decide.ts';
import type { AnswerTaken } from '../../../features/awaits/port.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { applyChange, keepLate, putInteraction } from './awaits.ts';
import { awaitView, loadUnit } from './load-await.ts';
import { loadExecution } from './load-execution.ts';

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
