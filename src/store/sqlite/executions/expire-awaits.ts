import { decideDue } from '../../../features/awaits/decide.ts';
import type { AwaitUnit } from '../../../features/awaits/model.ts';
import type { AwaitsExpired, ExpireAwaits } from '../../../features/awaits/port.ts';
import { type AwaitUnitRow, toAwaitUnit } from '../../../features/awaits/rows.ts';
import type { Transaction } from '../transaction.ts';
import { applyChange } from './awaits.ts';
import { loadAnswered, UNIT_COLUMNS } from './load-await.ts';
import { submit } from './submit.ts';

const DUE = `
  select ${UNIT_COLUMNS}
    from await_unit indexed by await_unit_next
   where next_at is not null
     and next_at <= :now
   order by next_at
   limit :limit`;

const DUE_OF = `
  select ${UNIT_COLUMNS}
    from await_unit
   where execution_id = :execution
     and next_at <= :now
   order by next_at
   limit :limit`;

const NEXT = 'select min(next_at) as next_at from await_unit where next_at is not null';

/** W-6. */
export function expireAwaits(tx: Transaction, { execution, limit }: ExpireAwaits): AwaitsExpired {
  const page = { now: tx.now, limit: limit + 1 };
  const rows =
    execution === undefined
      ? tx.all<AwaitUnitRow>(DUE, page)
      : tx.all<AwaitUnitRow>(DUE_OF, { ...page, execution });
  let [settled, started] = [0, 0];
  for (const row of rows.slice(0, limit)) {
    const done = expire(tx, toAwaitUnit(row));
    settled += done.settled;
    started += done.started;
  }
  const next = tx.get<{ next_at: number | null }>(NEXT)?.next_at ?? null;
  return {
    settled,
    started,
    more: rows.length > limit,
    ...(next === null ? {} : { nextInMs: Math.max(0, next - tx.now) }),
  };
}

function expire(
  tx: Transaction,
  unit: AwaitUnit,
): { readonly settled: number; readonly started: number } {
  const due = decideDue({ unit, answered: () => loadAnswered(tx, unit) }, tx.now);
  if (due === undefined) return { settled: 0, started: 0 };
  applyChange(tx, due.change);
  const answers = due.starts.map((start) => submit(tx, start));
  return {
    settled: due.change.unit.status === 'open' ? 0 : 1,
    started: answers.filter((each) => each.kind === 'submitted' && !each.existing).length,
  };
}
