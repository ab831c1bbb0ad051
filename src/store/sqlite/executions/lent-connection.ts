// The connection as user code sees it, inside a flush's transaction that other executions share.

import type { SQLInputValue, StatementSync } from 'node:sqlite';
import { InvalidInput } from '../../../support/fault.ts';
import type { Connection } from '../connection.ts';

/** The statements of `node:sqlite` that are complete when they return. */
export interface LentConnection {
  prepare(sql: string): LentStatement;
}

export type LentStatement = Pick<StatementSync, 'run' | 'get' | 'all'>;

/** Statements that would end, undo or change more than the caller's own work. */
const FORBIDDEN =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/|;)*(begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i;

/**
 * An `on conflict rollback`, in the statement, the table or a trigger, ends the transaction. Later
 * statements would then commit on their own, so the lent connection refuses them.
 */
export function lend(connection: Connection): {
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
