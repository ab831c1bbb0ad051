// Units and interactions as they are read.

import type { InteractionId } from '../../../execution/names.ts';
import type { AwaitCommandView } from '../../../features/awaits/decide.ts';
import type { AwaitUnit, Interaction } from '../../../features/awaits/model.ts';
import {
  AWAIT_CODES,
  type AwaitUnitRow,
  INTERACTION_CODES,
  type InteractionRow,
  toAwaitUnit,
  toInteraction,
} from '../../../features/awaits/rows.ts';
import type { ReadTransaction } from '../transaction.ts';

export const UNIT_COLUMNS =
  'execution_id, call, project, pipeline, name, status, items, needed, answered, opened_at, settled_at, due_at, next_at, about';

export const INTERACTION_COLUMNS =
  'id, execution_id, call, item, project, status, request, assignee, answer, digest, answered_by, answered_at, verified, late';

const UNIT = `
  select ${UNIT_COLUMNS}
    from await_unit
   where execution_id = :execution
     and call = :call`;

const OPEN_UNITS = `
  select ${UNIT_COLUMNS}
    from await_unit
   where execution_id = :execution
     and status = ${AWAIT_CODES.open}`;

const INTERACTION = `
  select ${INTERACTION_COLUMNS}
    from interaction
   where id = :id`;

const OF_UNIT = `
  select ${INTERACTION_COLUMNS}
    from interaction indexed by interaction_execution
   where execution_id = :execution
     and call = :call
     and status = :status
   order by item`;

/** Which unit. */
export type Place = Pick<Interaction, 'execution' | 'call'>;

export function loadUnit(tx: ReadTransaction, { execution, call }: Place): AwaitUnit | undefined {
  const row = tx.get<AwaitUnitRow>(UNIT, { execution, call });
  return row === undefined ? undefined : toAwaitUnit(row);
}

export function loadOpenUnits(tx: ReadTransaction, execution: string): readonly AwaitUnit[] {
  return tx.all<AwaitUnitRow>(OPEN_UNITS, { execution }).map(toAwaitUnit);
}

export function loadInteraction(tx: ReadTransaction, id: InteractionId): Interaction | undefined {
  const row = tx.get<InteractionRow>(INTERACTION, { id });
  return row === undefined ? undefined : toInteraction(row);
}

/** Those of one unit that are answered, or that were answered early. */
export function loadAnswered(
  tx: ReadTransaction,
  { execution, call }: Place,
  status: 'answered' | 'early' = 'answered',
): readonly Interaction[] {
  const code = INTERACTION_CODES[status];
  return tx.all<InteractionRow>(OF_UNIT, { execution, call, status: code }).map(toInteraction);
}

export function awaitView(tx: ReadTransaction, id: InteractionId): AwaitCommandView {
  const interaction = loadInteraction(tx, id);
  if (interaction === undefined) {
    return { unit: undefined, interaction, answered: () => [] };
  }
  return {
    unit: loadUnit(tx, interaction),
    interaction,
    answered: () => loadAnswered(tx, interaction),
  };
}
