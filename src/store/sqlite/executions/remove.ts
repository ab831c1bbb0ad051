import type { ExecutionRecord } from '../../../execution/execution.ts';
import {
  archivedOf,
  decideRemove,
  type RemoveRequest,
  type RemoveView,
} from '../../../features/retention/model.ts';
import type { ListRemovable, RemovablePage, Removal } from '../../../features/retention/port.ts';
import { type RemovableRow, toRemovable } from '../../../features/retention/rows.ts';
import { TERMINAL_FROM, toExecution } from '../../execution-rows.ts';
import type { ReadTransaction, Transaction } from '../transaction.ts';
import { keepArchived } from './archived.ts';
import { LABEL_KINDS, labelKind, labelValue } from './labels.ts';
import { type ChangingRow, loadRow } from './load-execution.ts';

export const OPEN_LETTER: string =
  'exists (select 1 from dead_letter where dead_letter.execution_id = execution.id and dead_letter.redriven_by is null)';

// What an event says of the chain of continuations that its execution stands in.
const CONTINUES = `(select substr(history.body, 15, 36) from history where history.row_id = execution.row_id and history.seq = 1 and history.body like '{"continues":"%')`;
const CONTINUED_AS = `(select substr(history.body, 17, 36) from history where history.row_id = execution.row_id and history.seq = execution.seq and history.body like '{"continuedAs":"%')`;

// F-2: what made it is gone, and what it made has ended.
export const UNUSED: string = `
     and not exists (select 1 from execution as above where above.id = execution.parent_id) -- guard: parent
     and not exists (select 1 from execution as old where old.id = execution.redrive_of) -- guard: redriven
     and not exists (select 1 from execution as before where before.id = ${CONTINUES}) -- guard: continues
     and not exists (select 1 from execution as child indexed by execution_parent where child.parent_id = execution.id and child.parent_id is not null and child.ended_at is null) -- guard: children
     and not exists (select 1 from execution as again indexed by execution_redrive where again.redrive_of = execution.id and again.redrive_of is not null and again.ended_at is null) -- guard: redrive
     and not exists (select 1 from execution as next where next.id = ${CONTINUED_AS} and next.ended_at is null) -- guard: continued
`;

const LATE =
  '(select coalesce(sum(interaction.late), 0) from interaction where interaction.execution_id = execution.id)';
const REDRIVEN_BY =
  '(select dead_letter.redriven_by from dead_letter where dead_letter.execution_id = execution.id)';

const REMOVE = `
  delete from execution
   where id = :id
     and project = :project -- guard: project
     and status >= ${TERMINAL_FROM}
     and ended_at + case when ${OPEN_LETTER} then :letterMs else :keepMs end <= :now -- guard: due
     ${UNUSED}
     and (:late is null or ${LATE} = :late) -- guard: late
     and (:late is null or ${REDRIVEN_BY} is :redrivenBy) -- guard: redriven-by
`;

const FACTS = `
  select ${OPEN_LETTER} as has_open_letter, ${LATE} as late, ${REDRIVEN_BY} as redriven_by,
         case when true ${UNUSED} then 0 else 1 end as in_use
    from execution
   where execution.id = :id`;

const REST: readonly string[] = [
  'delete from late_answer where interaction_id in (select id from interaction where execution_id = :id)',
  ...['inbox', 'attachment', 'await_unit', 'interaction', 'dead_letter'].map(
    (table) => `delete from ${table} where execution_id = :id`,
  ),
  'delete from job_item where job_id = :id',
  'delete from errand where parent_id = :id',
];

const FORGET_LABEL = `
  delete from label
   where project = :project
     and kind = :kind
     and name = :name
     and value = :value
     and execution_id = :id`;

/** The predicate decides; what went is what was there in the same transaction. */
export function remove(tx: Transaction, request: RemoveRequest): Removal {
  const { id, project, keepMs = null, letterMs = null, archived } = request;
  const row = loadRow(tx, id);
  const view = viewOf(tx, request, row);
  const seen = {
    late: archived?.seen.late ?? null,
    redrivenBy: archived?.seen.redrivenBy ?? null,
  };
  const values = { id, project, keepMs, letterMs, now: tx.now, ...seen };
  const isGone = row !== undefined && tx.run(REMOVE, values) > 0;
  if (!isGone) {
    const decision = decideRemove(view, request, tx.now);
    return decision.kind === 'kept' ? decision : { kind: 'kept', why: 'changed' };
  }
  const execution = toExecution(row);
  forgetRest(tx, row, execution);
  if (archived !== undefined) keepArchived(tx, archivedOf(execution, archived, tx.now));
  return { kind: 'removed' };
}

function viewOf(
  tx: ReadTransaction,
  { id }: RemoveRequest,
  row: ChangingRow | undefined,
): RemoveView {
  type Facts = { has_open_letter: 0 | 1; late: number; redriven_by: string | null; in_use: 0 | 1 };
  const facts = tx.get<Facts>(FACTS, { id });
  const redrivenBy = facts?.redriven_by ?? undefined;
  return {
    execution: row === undefined ? undefined : toExecution(row),
    hasOpenLetter: facts?.has_open_letter === 1,
    seen: {
      late: facts?.late ?? 0,
      ...(redrivenBy === undefined ? {} : { redrivenBy: redrivenBy as typeof id }),
    },
    isHeld: facts?.in_use === 1,
    isNeeded: false,
  };
}

/** F-4. */
function forgetRest(tx: Transaction, { row_id }: ChangingRow, execution: ExecutionRecord): void {
  const { id, project, tags, attributes } = execution;
  tx.run('delete from input where row_id = :rowId', { rowId: row_id });
  tx.run('delete from history where row_id = :rowId', { rowId: row_id });
  for (const sql of REST) tx.run(sql, { id });
  for (const value of new Set(tags)) {
    tx.run(FORGET_LABEL, { id, project, kind: LABEL_KINDS.tag, name: '', value });
  }
  for (const [name, value] of Object.entries(attributes)) {
    tx.run(FORGET_LABEL, { id, project, kind: labelKind(value), name, value: labelValue(value) });
  }
}

const PAGE = `
  select row_id, id
    from execution
   where id > :after
     and id < :before
   order by id
   limit :limit`;

// Where to go on is said to whoever asks: it is of their project.
const PAGE_OF_PROJECT = `
  select row_id, id
    from execution
   where project = :project
     and id > :after
     and id < :before
   order by id
   limit :limit`;

const REMOVABLE = `
  select execution.id, execution.project, execution.status, execution.ended_at, ${OPEN_LETTER} as has_open_letter
    from execution
   where execution.row_id in (select value from json_each(:rows))
     and execution.ended_at + :endedMs <= :now
     ${UNUSED}
   order by execution.id`;

/** F-8. */
export function removable(tx: ReadTransaction, query: ListRemovable): RemovablePage {
  const { after = '', before = '~', limit, project = null, endedMs } = query;
  const range = { after, before, limit };
  type Looked = { readonly row_id: number; readonly id: string };
  const page =
    project === null
      ? tx.all<Looked>(PAGE, range)
      : tx.all<Looked>(PAGE_OF_PROJECT, { ...range, project });
  const rows = JSON.stringify(page.map(({ row_id }) => row_id));
  const values = { rows, endedMs, now: tx.now };
  const items = tx.all<RemovableRow>(REMOVABLE, values).map(toRemovable);
  const next = page.length < limit ? undefined : page.at(-1)?.id;
  const on = next === undefined ? {} : { next: next as NonNullable<RemovablePage['next']> };
  return { items, now: tx.now, ...on };
}
