import type { ListRemovable, RemovablePage } from '../../../features/retention/port.ts';
import { type RemovableRow, toRemovable } from '../../../features/retention/rows.ts';
import type { ReadTransaction } from '../transaction.ts';
import { OPEN_LETTER, UNUSED } from './remove.ts';

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
