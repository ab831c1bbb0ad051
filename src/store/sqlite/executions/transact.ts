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
 * The work runs between the guard and the append, in its own savepoint, so that it can fail alone
 * . If another operation of the flush fails, the whole flush is undone and runs again. The
 * work then runs a second time, without the effects of the first.
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
    const inboxCount = append(tx, request, events);
    connection.run('release work');
    return { kind: 'recorded', inboxCount, at: tx.now, result: result as Awaited<Result> };
  } catch (error) {
    // A failing disk can make SQLite undo the whole transaction. The flush has then failed.
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
    // The store ignores this promise, so its rejection must not end the process.
    Promise.resolve(result).catch(() => undefined);
    throw new InvalidInput(
      'The function of ctx.transaction must be synchronous on SQLite, since other executions share the transaction. Nothing was written. Return a value, not a promise, and await before the call.',
    );
  } finally {
    const ended = takeBack();
    if (ended !== undefined) endedByWork(ended.endedBy);
  }
}

/**
 * The work ended the transaction, so all writes of the flush are gone, including those of other
 * executions.
 */
function endedByWork(cause: unknown): never {
  if (!isConflict(cause)) throw cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const error = new InvalidInput(
    `A conflict rolled back the transaction (${message}). Nothing was written. Do not use "on conflict rollback" inside ctx.transaction.`,
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
  return tail.inboxCount + carry(tx, tail.rowId, write);
}

function isThenable<Result>(value: Result | Promise<Result>): value is Promise<Result> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}
