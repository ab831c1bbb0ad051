import type { Answer } from '../../../features/awaits/model.ts';
import type {
  InteractionFound,
  ListInteractions,
  ReadInteraction,
} from '../../../features/awaits/port.ts';
import {
  INTERACTION_CODES,
  type InteractionRow,
  toAnswer,
  toInteraction,
} from '../../../features/awaits/rows.ts';
import type { ReadTransaction } from '../transaction.ts';
import { INTERACTION_COLUMNS, loadInteraction, loadUnit } from './load-await.ts';

const LATE = `
  select answer, digest, answered_by, answered_at
    from late_answer
   where interaction_id = :id
   order by n`;

const OPEN = `status = ${INTERACTION_CODES.open}`;

export function interaction(
  tx: ReadTransaction,
  { project, id }: ReadInteraction,
): InteractionFound | undefined {
  const found = loadInteraction(tx, id);
  if (found === undefined || found.project !== project) return undefined;
  return { interaction: found, unit: loadUnit(tx, found) };
}

/** W-10. One filter leads by its index, in the order of ids; the others are checked on the way. */
export function interactions(
  tx: ReadTransaction,
  query: ListInteractions,
): readonly InteractionFound[] {
  const { project, limit, before, open, execution, call, assignee, name } = query;
  const conditions = [
    ...(before === undefined ? [] : ['id < :before']),
    ...(open === undefined ? [] : [open ? OPEN : `not ${OPEN}`]),
    ...(execution === undefined ? [] : ['execution_id = :execution']),
    ...(call === undefined ? [] : ['call = :call']),
    ...(assignee === undefined ? [] : ['assignee = :assignee']),
    ...(name === undefined ? [] : ['name = :name']),
  ];
  const sql = `
  select ${INTERACTION_COLUMNS}
    from interaction indexed by ${indexOf(query)}
   where project = :project
     ${conditions.map((condition) => `and ${condition}`).join('\n     ')}
   order by id desc
   limit :limit`;
  const filters = {
    ...(before === undefined ? {} : { before }),
    ...(execution === undefined ? {} : { execution }),
    ...(call === undefined ? {} : { call }),
    ...(assignee === undefined ? {} : { assignee }),
    ...(name === undefined ? {} : { name }),
  };
  const rows = tx.all<InteractionRow>(sql, { project, limit, ...filters });
  return rows.map((row) => {
    const found = toInteraction(row);
    return { interaction: found, unit: loadUnit(tx, found) };
  });
}

/** Those of what is open have nothing else in them. */
function indexOf({ open, execution, assignee, name }: ListInteractions): string {
  if (execution !== undefined) return 'interaction_execution';
  if (open !== true) return 'interaction_list';
  if (assignee !== undefined) return 'interaction_assignee';
  return name === undefined ? 'interaction_open' : 'interaction_name';
}

/** W-5. */
export function lateAnswers(tx: ReadTransaction, query: ReadInteraction): readonly Answer[] {
  if (interaction(tx, query) === undefined) return [];
  return tx.all<Parameters<typeof toAnswer>[0]>(LATE, { id: query.id }).flatMap((row) => {
    const answer = toAnswer(row);
    return answer === undefined ? [] : [answer];
  });
}
