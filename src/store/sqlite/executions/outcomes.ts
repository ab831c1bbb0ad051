import type { TerminalStatus } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Outcome } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent, toStatus } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { ReadTransaction } from '../transaction.ts';

// The seq of what has ended is exact.
const OUTCOME = positional(
  'id',
  `
  select execution.status, execution.ended_at,
         history.seq, history.at, history.fence, history.kind, history.name, history.body
    from execution
    join history on history.row_id = execution.row_id and history.seq = execution.seq
   where execution.id = :id
     and execution.status >= 10`,
);

type Values = readonly [
  status: number,
  endedAt: Instant,
  seq: number,
  at: number,
  fence: number | null,
  kind: string,
  name: string | null,
  body: string | null,
];

export function outcomes(tx: ReadTransaction, ids: readonly ExecutionId[]): readonly Outcome[] {
  const statement = tx.arrays<Values>(OUTCOME);
  return [...new Set(ids)].flatMap((id): readonly Outcome[] => {
    const values = statement.get(id);
    if (values === undefined) return [];
    const [status, endedAt, seq, at, fence, kind, name, body] = values;
    const row: HistoryRow = { seq, at, fence, kind, name, body };
    return [
      { id, status: toStatus(status) as TerminalStatus, endedAt, event: toHistoryEvent(row) },
    ];
  });
}
