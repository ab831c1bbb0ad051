import { refuseTransact } from '../../../execution/decide/owner.ts';
import type { NewEvent } from '../../../execution/history.ts';
import { assert } from '../../../support/assert.ts';
import { InvalidInput } from '../../../support/fault.ts';
import type { Transact, Transacted } from '../../contract/execution-store.ts';
import { isConflict } from '../connection.ts';
import { type Transaction, TransactionUndone } from '../transaction.ts';
import { lend } from './lent-connection.ts';
import { appendOwned, carry, mayAppend, ownerView, refusedOwner } from './owner.ts';

/**
 * the work runs between the guard and the append, in a savepoint of its own, so that it can fail
 * alone. When something else in the same flush fails, all of the flush is undone and run again: then the
 * work is run a second time, and what it did the first time is gone.
 */
export function transact<Result>(
  tx: Transaction,
  request: Transact<Result>,
): Transacted<Awaited<Result>> {
  if (!mayAppend(tx, request)) {
    const refusal = refuseTransact(ownerView(tx, request, 0), request);
    assert(refusal !== undefined, 'X-23: an owner that may append was not let');
    return refusedOwner(tx, refusal);
  }
  const { connection } = tx;
  connection.run('savepoint work');
  try {
    const result = work(tx, request);
    const events = request.events(result);
    const news = append(tx, request, events);
    connection.run('release work');
    return { kind: 'recorded', news, at: tx.now, result: result as Awaited<Result> };
  } catch (error) {
    // A failing disk may have made SQLite undo the whole transaction: then the flush has failed.
    if (!connection.isInTransaction) throw error;
    connection.undo('work');
    return { kind: 'threw', error };
  }
}

function work<Result>(tx: Transaction, request: Transact<Result>): Result {
  const { lent, takeBack } = lend(tx.connection);
  try {
    const result = request.work(lent);
    if (!isThenable(result)) return result;
    // Nobody will look at it: it must not end the process when it fails.
    Promise.resolve(result).catch(() => undefined);
    throw new InvalidInput(
      'Work in a transaction of the SQLite store must be synchronous: other executions share the transaction. Do not return a promise; await what it needs before.',
    );
  } finally {
    const ended = takeBack();
    if (ended !== undefined) endedByWork(ended.endedBy);
  }
}

/** Whatever the work made of it: all that was written in the flush is gone, by others too. */
function endedByWork(cause: unknown): never {
  if (!isConflict(cause)) throw cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const error = new InvalidInput(
    `A conflict rolled back the transaction that the work ran in (${message}). Nothing of it was kept. Answer conflicts otherwise than by rollback here: the transaction belongs to the store.`,
  );
  throw new TransactionUndone({ kind: 'threw', error });
}

function append<Result>(
  tx: Transaction,
  request: Transact<Result>,
  events: readonly NewEvent[],
): number {
  const write = { ...request, events };
  const tail = appendOwned(tx, write);
  assert(tail !== undefined, 'X-23: the work must not write to the tables of Holdfast');
  return tail.news + carry(tx, tail.rowId, write);
}

function isThenable<Result>(value: Result | Promise<Result>): value is Promise<Result> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}
