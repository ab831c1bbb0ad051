import { historyEvents } from '../../../execution/decide/record.ts';
import type { Redrive, RedriveResult } from '../../../features/repair/port.ts';
import { assert } from '../../../support/assert.ts';
import { fromSubmit, PREVIOUS_CODES, sagaOf } from '../../execution-rows.ts';
import { appendEvent } from '../../sql/executions.ts';
import { type Redriven, redriveAll } from '../../sql/redrive.ts';
import { native } from '../../sql/script.ts';
import type { Database } from '../database.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { noteLimit } from './gates.ts';
import { insertRow } from './submit.ts';

// The columns that a submit does not set. `given-back` makes the next claimer read the existing
// history.
const START_LATER = `
  update execution
     set seq = :seq,
         previous = ${PREVIOUS_CODES['given-back']},
         saga = :saga,
         deadline_at = :deadlineAt
   where id = :id`;

interface Gathered {
  readonly requests: Redrive[];
  /**
   * The ids in this batch. One batch re-drives an execution at most once, and contains no id twice.
   */
  readonly names: Set<string>;
  readonly results: Promise<readonly RedriveResult[]>;
}

/** Bulk jobs send many re-drives at once. Those that arrive before the next flush run together. */
export function redriver(database: Database): (request: Redrive) => Promise<RedriveResult> {
  let gathered: Gathered | undefined;
  const gather = (): Gathered => {
    const requests: Redrive[] = [];
    const results = database.perform((tx: Transaction) => {
      gathered = undefined;
      return redriveTogether(tx, requests);
    }, undefined);
    return { requests, names: new Set(), results };
  };
  return async (request) => {
    const { of, submit } = request;
    assert(submit.key === undefined, 'Y-20: the key stays with what is driven again');
    if (gathered === undefined || !fits(gathered, request)) gathered = gather();
    gathered.names.add(of).add(submit.id);
    const nth = gathered.requests.push(request) - 1;
    return (await gathered.results)[nth] as RedriveResult;
  };
}

/** Bounds the time for which one batch occupies the event loop. */
const TOGETHER_MAX = 500;

function fits({ requests, names }: Gathered, { of, submit }: Redrive): boolean {
  return requests.length < TOGETHER_MAX && !names.has(of) && !names.has(submit.id);
}

function redriveTogether(tx: Transaction, requests: readonly Redrive[]): readonly RedriveResult[] {
  const insertAll = (redriven: readonly Redriven[]) =>
    native(() => redriven.map((each) => insert(tx, each)));
  const results = play(tx, redriveAll(requests, insertAll)).map((result) => {
    assert(result !== undefined, 'Y-21: a re-drive that may be stored was not');
    return result;
  });
  if (results.some(({ kind }) => kind === 'submitted')) tx.notify();
  return results;
}

function insert(tx: Transaction, { submit, events, execution }: Redriven): boolean {
  const { id, seq, deadlineAt = null } = execution;
  const isInserted = insertRow(tx, fromSubmit(submit, tx.now), submit);
  for (const event of historyEvents(events, { seq: 2, at: tx.now })) {
    play(tx, appendEvent(id, event));
  }
  tx.run(START_LATER, { id, seq, saga: sagaOf(execution), deadlineAt });
  noteLimit(tx, submit);
  return isInserted;
}
