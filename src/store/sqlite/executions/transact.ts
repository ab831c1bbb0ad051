import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { refuseTransact } from '../../../execution/decide/owner.ts';
import type { NewEvent } from '../../../execution/history.ts';
import { assert } from '../../../support/assert.ts';
import { InvalidInput } from '../../../support/fault.ts';
import type { Transact, Transacted } from '../../contract/execution-store.ts';
import { type Connection, isConflict } from '../connection.ts';
import { type Transaction, TransactionUndone } from '../transaction.ts';
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

// The connection as user code sees it, inside a flush's transaction that other executions share.

/** The statements of `node:sqlite` that are complete when they return. */
export interface LentConnection {
  prepare(sql: string): LentStatement;
}

type LentStatement = Pick<StatementSync, 'run' | 'get' | 'all'>;

/** Statements that would end, undo or change more than the caller's own work. */
const FORBIDDEN =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|;)*(begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i;

/**
 * An `on conflict rollback`, in the statement, the table or a trigger, ends the transaction. Later
 * statements would then commit on their own, so the lent connection refuses them.
 */
function lend(connection: Connection): {
  readonly lent: LentConnection;
  /** Returns the cause if the transaction has ended. */
  takeBack(): { readonly endedBy: unknown } | undefined;
} {
  let isLent = true;
  let ended: { readonly endedBy: unknown } | undefined;
  const use = <Result>(action: () => Result): Result => {
    if (!isLent || ended !== undefined) {
      throw new InvalidInput(
        'The transaction of this step is over. Nothing was done. Use the connection only inside ctx.transaction.',
      );
    }
    try {
      return action();
    } catch (endedBy) {
      if (!connection.isInTransaction) ended = { endedBy };
      throw endedBy;
    }
  };
  const lent: LentConnection = {
    prepare(sql) {
      const word = FORBIDDEN.exec(sql)?.[1];
      if (word !== undefined) {
        throw new InvalidInput(
          `"${word}" does not work inside ctx.transaction: the store commits this step together with its history. Nothing was done.`,
        );
      }
      const statement = use(() => connection.prepareOnce(sql));
      return {
        run: (...values) => use(() => statement.run(...(values as SQLInputValue[]))),
        get: (...values) => use(() => statement.get(...(values as SQLInputValue[]))),
        all: (...values) => use(() => statement.all(...(values as SQLInputValue[]))),
      };
    },
  };
  return {
    lent,
    takeBack() {
      isLent = false;
      return ended;
    },
  };
}
