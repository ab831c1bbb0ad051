// What the verbs about awaits share: the rows of one unit, what becomes of a change, and what an end closes.

import {
  type Answer,
  type AwaitUnit,
  type Interaction,
  isSettled,
  LATE_ANSWERS_MAX,
  type OpenAwait,
} from '../../../execution/await.ts';
import { changedByAwaitCommand } from '../../../execution/decide/audit.ts';
import {
  type AwaitChange,
  type AwaitCommandDecision,
  type AwaitCommandView,
  closedUnit,
  decideOpen,
} from '../../../execution/decide/await.ts';
import { deliver } from '../../../execution/decide/deliver.ts';
import type { CallKey, ExecutionId, InteractionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { AwaitAnswer, AwaitCommand } from '../../contract/await-store.ts';
import { writeAudit } from './audit.ts';
import { putMessage } from './deliver.ts';
import type { Entry, ExecutionState, UnitEntry } from './state.ts';

/** W-1: with its owner's write; one that is there already is left alone. */
export function openAwaits(
  state: ExecutionState,
  entry: Entry,
  { awaits, now }: { readonly awaits: readonly OpenAwait[]; readonly now: Instant },
): void {
  for (const open of structuredClone(awaits)) {
    const { execution } = entry;
    const known = unitEntry(state, execution.id, open.call);
    if (known?.unit !== undefined) continue;
    const early = interactionsOf(state, known);
    applyChange(state, decideOpen(open, { execution, early }, now), now);
  }
}

export function applyChange(state: ExecutionState, change: AwaitChange, now: Instant): void {
  const { execution, call, nextAt } = change.unit;
  const unit = state.unitEntry(execution, call);
  unit.unit = Object.freeze(change.unit);
  for (const interaction of change.interactions) state.putInteraction(interaction);
  if (change.closesOthers) {
    for (const each of interactionsOf(state, unit)) {
      if (each.status === 'open') state.putInteraction({ ...each, status: 'closed' });
    }
  }
  for (const { id, answer } of change.late ?? []) addLate(state, id, answer);
  if (nextAt !== undefined) state.dueAwaits.push({ at: nextAt, id: execution });
  const entry = state.entries.get(execution);
  if (change.message === undefined || entry === undefined) return;
  const { session } = entry.execution;
  putMessage(state, entry, deliver(entry.execution, change.message, now));
  // The next heartbeat makes the holder look.
  if (session !== undefined) state.kernel.notify(session);
}

/** W-5: counted always, kept while there is room. */
export function keepLate(state: ExecutionState, id: InteractionId, answer: Answer): void {
  const interaction = state.interactions.get(id);
  if (interaction === undefined) return;
  state.putInteraction({ ...interaction, late: interaction.late + 1 });
  addLate(state, id, answer);
}

function addLate(state: ExecutionState, id: InteractionId, answer: Answer): void {
  const kept = state.lateAnswers.get(id) ?? [];
  if (kept.length < LATE_ANSWERS_MAX) state.lateAnswers.set(id, [...kept, Object.freeze(answer)]);
}

/** W-9: as the execution ends; nobody is told. */
export function closeAwaits(state: ExecutionState, id: ExecutionId, now: Instant): void {
  for (const entry of state.awaits.get(id)?.values() ?? []) {
    const { unit } = entry;
    if (unit !== undefined && !isSettled(unit)) entry.unit = Object.freeze(closedUnit(unit, now));
    for (const { answer, verified: _, ...interaction } of interactionsOf(state, entry)) {
      if (interaction.status === 'answered' || interaction.status === 'closed') continue;
      state.putInteraction({ ...interaction, status: 'closed' });
      if (answer !== undefined) keepLate(state, interaction.id, answer);
    }
  }
}

function commandViewOf(state: ExecutionState, id: InteractionId): AwaitCommandView {
  const interaction = state.interactions.get(id);
  const entry = interaction && unitEntry(state, interaction.execution, interaction.call);
  return { unit: entry?.unit, interaction, answered: () => answeredOf(state, entry) };
}

/** W-8. */
export function obeyAwait<Request extends AwaitCommand>(
  state: ExecutionState,
  request: Request,
  decide: (view: AwaitCommandView, request: Request, now: Instant) => AwaitCommandDecision,
): AwaitAnswer {
  const now = state.kernel.now();
  const view = commandViewOf(state, request.id);
  const decision = decide(view, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  writeAudit(state, request, { changed: changedByAwaitCommand(view, decision), now });
  applyChange(state, decision.change, now);
  return { kind: 'done' };
}

export function unitEntry(
  state: ExecutionState,
  execution: ExecutionId,
  call: CallKey,
): UnitEntry | undefined {
  return state.awaits.get(execution)?.get(call);
}

export function unitOf(
  state: ExecutionState,
  { execution, call }: Pick<Interaction, 'execution' | 'call'>,
): AwaitUnit | undefined {
  return unitEntry(state, execution, call)?.unit;
}

export function answeredOf(
  state: ExecutionState,
  entry: UnitEntry | undefined,
): readonly Interaction[] {
  return interactionsOf(state, entry).filter(({ status }) => status === 'answered');
}

function interactionsOf(
  state: ExecutionState,
  entry: UnitEntry | undefined,
): readonly Interaction[] {
  return [...(entry?.ids ?? [])]
    .map((id) => state.interactions.get(id))
    .filter((interaction) => interaction !== undefined);
}
