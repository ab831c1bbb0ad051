// Reads the ready rows for a claim. Passing a column to JavaScript costs more than finding
// the row, and most columns of most rows are null or known. So small numbers arrive as bits of one
// column, and only rows with more content are read in full.

import { STATUS_CODES } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { ReadTransaction } from '../transaction.ts';
import { type ChangingRow, loadByRowId } from './load-execution.ts';

export interface Spot {
  readonly pipeline: string;
  readonly lane: number;
  readonly project: string;
}

// The index contains no held executions, and SQLite refuses to use it without `hold = 0`, so that
// condition is not a guard. With a bare parameter as the limit, SQLite would plan the statement at
// every call, which takes 0.1 ms. Hence `+ 0`.
const READY = positional(
  'pipeline lane project now limit',
  `
  select row_id, id, ready_at, news, seq, claimed_seq, submitted_at,
         previous + 4 * saga + 16 * gated + 32 * has_place
           + 64 * (coalesce(deadline_at, parent_id, redrive_of, key, intent, place_key, rate_key, about, progress, heartbeats) is not null),
         (select input.input from input where input.row_id = execution.row_id)
    from execution indexed by execution_ready
   where pipeline = :pipeline
     and lane = :lane
     and project = :project
     and ready_at is not null
     and hold = 0
     and ready_at <= :now -- guard: due
   order by ready_at, id
   limit :limit + 0`,
);

type Values = readonly [
  rowId: number,
  id: string,
  readyAt: number,
  inboxCount: number,
  seq: number,
  claimedSeq: number,
  submittedAt: number,
  bits: number,
  input: string,
];

/** Returns rows in the order in which they became ready. */
export function readyRows(tx: ReadTransaction, spot: Spot, limit: number): readonly ChangingRow[] {
  const { pipeline, lane, project } = spot;
  const found = tx.arrays<Values>(READY).all(pipeline, lane, project, tx.now, limit);
  return found.map((values) => {
    const [loaded] = values[BITS] >= HAS_MORE ? loadByRowId(tx, [values[0]]) : [];
    return loaded ?? plainRow(spot, values);
  });
}

const BITS = 7;
const HAS_MORE = 64;

/** Leaves the columns that a claim sets as if the execution had never been claimed. */
function plainRow({ pipeline, lane, project }: Spot, values: Values): ChangingRow {
  const bits = values[BITS];
  return {
    id: values[1],
    status: STATUS_CODES.queued,
    fence: null,
    session_id: null,
    news: values[3],
    seq: values[4],
    ready_at: values[2],
    hold: 0,
    lane,
    gated: (bits >> 4) & 1,
    has_place: (bits >> 5) & 1,
    claimed_at: null,
    claimed_seq: values[5],
    previous: bits & 3,
    fruitless: 0,
    wake_after: 0,
    submitted_at: values[6],
    deadline_at: null,
    ended_at: null,
    project,
    pipeline,
    parent_id: null,
    parent_call: null,
    key: null,
    intent: null,
    place_key: null,
    rate_key: null,
    about: null,
    progress: null,
    heartbeats: null,
    row_id: values[0],
    saga: (bits >> 2) & 3,
    redrive_of: null,
    input: values[8],
  };
}
