// Joins the transaction of a caller that has its own connection to the same database.

import type { ClientBase } from 'pg';
import { InvalidInput } from '../../../support/fault.ts';
import { requireMethods } from '../../../support/options.ts';
import type { TransactionClient } from '../../contract/execution-store.ts';
import type { After, Gateway, Script } from '../../sql/script.ts';
import { isClash } from '../committer.ts';
import { toFault } from '../database.ts';
import { play } from '../gateway.ts';
import type { Parts } from './parts.ts';

/** The last use of each connection, because savepoints of two at once would undo each other. */
const LAST: WeakMap<ClientBase, Promise<unknown>> = new WeakMap();

export function gatewayOn(
  { database, wakeups }: Pick<Parts, 'database' | 'wakeups'>,
  given: TransactionClient,
): Gateway {
  requireMethods('client', given, ['query']);
  const client = given as ClientBase;
  const queries = database.on(client);
  const perform = <Result>(script: () => Script<Result>, after: After<Result> = {}) => {
    const done = afterLast(client, () =>
      inSavepoint(client, async () => {
        const result = await play(queries, script());
        if (after.notifies?.(result) === true) await wakeups.notifyWithin(queries);
        return { keep: after.keeps?.(result) ?? true, result };
      }),
    );
    LAST.set(
      client,
      done.catch(() => undefined),
    );
    return done;
  };
  return { read: perform, write: perform, repeat: perform };
}

async function afterLast<Result>(client: ClientBase, work: () => Promise<Result>): Promise<Result> {
  await LAST.get(client);
  return work();
}

/** Leaves the transaction as it was if the work keeps nothing. Repeats it after a lost race. */
async function inSavepoint<Result>(
  client: ClientBase,
  work: () => Promise<{ readonly keep: boolean; readonly result: Result }>,
): Promise<Result> {
  for (;;) {
    await client.query('savepoint holdfast').catch(explain);
    try {
      const { keep, result } = await work();
      await client.query(`${keep ? 'release' : 'rollback to'} savepoint holdfast`);
      return result;
    } catch (cause) {
      const fault = toFault(cause);
      // This fails only if the connection is lost.
      await client.query('rollback to savepoint holdfast').catch(() => undefined);
      if (!isClash(fault)) throw fault;
    }
  }
}

const NO_TRANSACTION = '25P01';

function explain(cause: { readonly code?: string }): never {
  if (cause.code !== NO_TRANSACTION) throw toFault(cause);
  throw new InvalidInput(
    'client has no open transaction. Nothing was written. Send "begin" on it first.',
    { cause },
  );
}
