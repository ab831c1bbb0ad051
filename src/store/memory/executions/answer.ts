import type { Audited } from '../../../execution/audit.ts';
import { changedByAnswer } from '../../../execution/decide/audit.ts';
import {
  type AnswerRequest,
  type AnswerView,
  decideAnswer,
} from '../../../execution/decide/await.ts';
import type { AnswerTaken } from '../../contract/await-store.ts';
import { writeAudit } from './audit.ts';
import { answeredOf, applyChange, keepLate, unitEntry } from './awaits.ts';
import type { ExecutionState } from './state.ts';

export function answer(state: ExecutionState, request: AnswerRequest & Audited): AnswerTaken {
  const now = state.kernel.now();
  const view = answerView(state, request);
  const decision = decideAnswer(view, request, now);
  writeAudit(state, request, { changed: changedByAnswer(view, decision), now });
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refused', ...decision.refusal };
    case 'existing':
      return { kind: 'existing', settled: false };
    case 'keep-early':
      state.putInteraction(decision.interaction);
      return { kind: 'kept', settled: false };
    case 'apply':
      applyChange(state, decision.change, now);
      return { kind: 'answered', settled: decision.change.unit.status !== 'open' };
    case 'late':
      if (decision.change !== undefined) applyChange(state, decision.change, now);
      keepLate(state, decision.interaction.id, decision.answer);
      return { kind: 'refused', ...decision.refusal };
  }
}

function answerView(state: ExecutionState, { id, place }: AnswerRequest): AnswerView {
  const interaction = state.interactions.get(id);
  const at = interaction ?? place;
  const entry = at === undefined ? undefined : unitEntry(state, at.execution, at.call);
  return {
    execution: at === undefined ? undefined : state.entries.get(at.execution)?.execution,
    unit: entry?.unit,
    interaction,
    answered: () => answeredOf(state, entry),
  };
}
