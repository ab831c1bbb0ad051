// What the verbs about awaits share. Locks are taken in one order: the execution, its unit, interactions; so
// an early answer and the opening of its unit cannot miss each other (W-2), and what settles can be told.

import { deliver } from '../../../execution/decide/deliver.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId, InteractionId } from '../../../execution/names.ts';
import {
  type AwaitChange,
  type AwaitCommandView,
  closedUnit,
  decideOpen,
} from '../../../features/awaits/decide.ts';
import {
  type AwaitUnit,
  type Interaction,
  isSettled,
  type OpenAwait,
} from '../../../features/awaits/model.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import { toExecution } from '../../execution-rows.ts';
import type { Queries } from '../database.ts';
import { deliverTo } from './deliver.ts';
import { lockExecution } from './rows.ts';
import {
  answeredOf,
  closeLeft,
  closeOthers,
  keepLate,
  loadOpening,
  loadUnit,
  openUnitsOf,
  placeOf,
  saveInteractions,
  saveUnits,
  type UnitPlace,
} from './unit-rows.ts';

/** W-1: with its owner's write; one that is there already is left alone. The execution, as it is then. */
export async function openAwaits(
  queries: Queries,
  execution: ExecutionRecord,
  { awaits, now }: { readonly awaits: readonly OpenAwait[]; readonly now: Instant },
): Promise<ExecutionRecord> {
  const calls = new Map(awaits.toReversed().map((open) => [open.call, open]));
  const { known, early } = await loadOpening(queries, execution.id, [...calls.keys()]);
  const changes = awaits
    .filter((open) => calls.get(open.call) === open && !known.has(open.call))
    .map((open) => {
      const own = early.filter(({ call }) => call === open.call);
      return decideOpen(open, { execution, early: own }, now);
    });
  return applyAll(queries, execution, { changes, now });
}

/** With the execution locked; as it is afterwards, when it was told. */
export async function applyAll(
  queries: Queries,
  execution: ExecutionRecord,
  { changes, now }: { readonly changes: readonly AwaitChange[]; readonly now: Instant },
): Promise<ExecutionRecord> {
  await saveUnits(
    queries,
    changes.map(({ unit }) => unit),
  );
  const named = changes.flatMap(({ unit: { name }, interactions }) =>
    interactions.map((interaction) => ({ interaction, name })),
  );
  await saveInteractions(queries, named);
  let told = execution;
  for (const { unit, closesOthers, late = [], message } of changes) {
    for (const each of late) await keepLate(queries, each);
    if (closesOthers) await closeOthers(queries, unit);
    if (message === undefined) continue;
    const delivery = deliver(told, message, now);
    const owner = told.status === 'running' ? told.session : undefined;
    await deliverTo(queries, delivery, owner);
    told = delivery.execution;
  }
  return told;
}

/** W-9: as the execution ends, with its row locked; nobody is told. */
export async function closeAwaits(queries: Queries, id: ExecutionId, now: Instant): Promise<void> {
  const units = await openUnitsOf(queries, id);
  await saveUnits(
    queries,
    units.map((unit) => closedUnit(unit, now)),
  );
  await closeLeft(queries, id);
}

export interface LockedAwait extends AwaitCommandView {
  readonly now: Instant;
  readonly execution: ExecutionRecord | undefined;
}

export interface LockAwait {
  readonly id?: InteractionId;
  /** Where it stands, unless there is an interaction that says so. */
  readonly place?: UnitPlace | undefined;
  /** Whether what is decided about an open unit may settle it, which takes all answers. */
  maySettle(unit: AwaitUnit, now: Instant): boolean;
}

export async function lockAwait(
  queries: Queries,
  { id, place, maySettle }: LockAwait,
): Promise<LockedAwait> {
  const found = id === undefined ? undefined : await placeOf(queries, id);
  const at = found ?? place;
  if (at === undefined) return NOTHING;
  const row = await lockExecution(queries, at.execution);
  const execution = row === undefined ? undefined : toExecution(row);
  const { now, unit, interaction } = await loadUnit(queries, at, id);
  const isLast = unit !== undefined && !isSettled(unit) && maySettle(unit, now);
  const answers = isLast ? await answeredOf(queries, at) : undefined;
  const answered = (): readonly Interaction[] => {
    assert(answers !== undefined, 'W-3: what settles a unit is known before it is decided');
    return answers;
  };
  return { now, execution, unit, interaction, answered };
}

const NOTHING: LockedAwait = {
  now: 0 as Instant,
  execution: undefined,
  unit: undefined,
  interaction: undefined,
  answered: () => [],
};
