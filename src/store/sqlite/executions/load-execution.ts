// Reads rows of executions as arrays, and converts them to the row format that both SQL stores
// share.

import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import { type ExecutionRow, toExecution } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { ReadTransaction } from '../transaction.ts';

const NAMES = [
  ...['id', 'status', 'fence', 'session_id', 'news', 'seq', 'ready_at', 'hold', 'lane', 'gated'],
  ...['has_place', 'claimed_at', 'claimed_seq', 'previous', 'fruitless', 'wake_after'],
  ...['submitted_at', 'deadline_at', 'ended_at', 'project', 'pipeline', 'parent_id', 'parent_call'],
  ...[
    'key',
    'intent',
    'place_key',
    'rate_key',
    'about',
    'progress',
    'row_id',
    'saga',
    'redrive_of',
    'heartbeats',
  ],
];

/** The order that `rowOf` expects. */
export const COLUMNS: string = [
  ...NAMES.map((name) => `execution.${name}`),
  '(select input.input from input where input.row_id = execution.row_id) as input',
].join(', ');

type Nullable<Value> = Value | null;

/** The values of COLUMNS. */
export type ExecutionValues = readonly [
  id: string,
  status: number,
  fence: Nullable<number>,
  sessionId: Nullable<string>,
  inboxCount: number,
  seq: number,
  readyAt: Nullable<number>,
  hold: number,
  lane: number,
  gated: number,
  hasSlot: number,
  claimedAt: Nullable<number>,
  claimedSeq: number,
  previous: number,
  fruitless: number,
  wakeAfter: number,
  submittedAt: number,
  deadlineAt: Nullable<number>,
  endedAt: Nullable<number>,
  project: string,
  pipeline: string,
  parentId: Nullable<string>,
  parentCall: Nullable<string>,
  key: Nullable<string>,
  intent: Nullable<string>,
  slotKey: Nullable<string>,
  rateKey: Nullable<string>,
  about: Nullable<string>,
  progress: Nullable<string>,
  rowId: number,
  saga: number,
  redriveOf: Nullable<string>,
  heartbeats: Nullable<string>,
  input: string,
];

const LOAD = positional(
  'id',
  `
  select ${COLUMNS}
    from execution
   where id = :id`,
);

const LOAD_ROW = positional(
  'rowId',
  `
  select ${COLUMNS}
    from execution
   where row_id = :rowId`,
);

/** A mutable row, from which a verb builds the record that it returns. */
export type ChangingRow = { -readonly [Part in keyof ExecutionRow]: ExecutionRow[Part] } & {
  readonly row_id: number;
};

export function rowOf(values: ExecutionValues): ChangingRow {
  return {
    id: values[0],
    status: values[1],
    fence: values[2],
    session_id: values[3],
    news: values[4],
    seq: values[5],
    ready_at: values[6],
    hold: values[7],
    lane: values[8],
    gated: values[9],
    has_place: values[10],
    claimed_at: values[11],
    claimed_seq: values[12],
    previous: values[13],
    fruitless: values[14],
    wake_after: values[15],
    submitted_at: values[16],
    deadline_at: values[17],
    ended_at: values[18],
    project: values[19],
    pipeline: values[20],
    parent_id: values[21],
    parent_call: values[22],
    key: values[23],
    intent: values[24],
    place_key: values[25],
    rate_key: values[26],
    about: values[27],
    progress: values[28],
    row_id: values[29],
    saga: values[30],
    redrive_of: values[31],
    heartbeats: values[32],
    input: values[33],
  };
}

export function loadRow(tx: ReadTransaction, id: ExecutionId | string): ChangingRow | undefined {
  const values = tx.arrays<ExecutionValues>(LOAD).get(id);
  return values === undefined ? undefined : rowOf(values);
}

export function loadExecution(
  tx: ReadTransaction,
  id: ExecutionId | string,
): ExecutionRecord | undefined {
  const row = loadRow(tx, id);
  return row === undefined ? undefined : toExecution(row);
}

/** Returns the rows of a query that selects COLUMNS. */
export function loadRows(
  tx: ReadTransaction,
  sql: string,
  ...values: readonly (string | number)[]
): readonly ChangingRow[] {
  return tx
    .arrays<ExecutionValues>(sql)
    .all(...values)
    .map(rowOf);
}

/**
 * Returns the rows in the order of `rowIds`, which an earlier query of the same transaction found.
 */
export function loadByRowId(
  tx: ReadTransaction,
  rowIds: readonly number[],
): readonly ChangingRow[] {
  return rowIds.flatMap((rowId) => loadRows(tx, LOAD_ROW, rowId));
}
