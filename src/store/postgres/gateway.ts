// Runs the verbs of store/sql on PostgreSQL.

import type { LeaseGateway } from '../sql/leases/terms.ts';
import {
  type After,
  type Gateway,
  type Native,
  type PlainGateway,
  type Script,
  type ScriptStatement,
  type Sql,
  valuesOf,
} from '../sql/script.ts';
import { withRetries } from './committer.ts';
import {
  type Committing,
  type Database,
  type Queries,
  type Statement,
  statement,
} from './database.ts';
import type { Parts } from './executions/parts.ts';
import type { Hints } from './hints.ts';

const WRITES = /\b(insert into|update|delete from) hf\./;
const RETURNS = /\breturning\b/;

type Place = Pick<Parts, 'database' | 'boundaries' | 'environment' | 'wakeups'>;

export function gatewayOf({ database, boundaries, environment, wakeups }: Place): Gateway {
  return {
    ...plainGatewayOf(database, boundaries),
    async repeat(script, after = {}) {
      const result = await withRetries(environment, () =>
        perform({ database, boundaries }, script, after.keeps),
      );
      if (after.notifies?.(result) === true) wakeups.notify();
      return result;
    },
  };
}

export function plainGatewayOf(database: Database, boundaries?: Committing): PlainGateway {
  return {
    read: (script) => play(database, script()),
    write: (script) => perform({ database, boundaries }, script),
  };
}

export function leaseGatewayOf(database: Database, hints: Hints): LeaseGateway {
  const plain = plainGatewayOf(database);
  return {
    ...plain,
    once: plain.read,
    freed: async (key, isAwaited) => {
      if (isAwaited) await hints.notify(key);
    },
  };
}

function perform<Result>(
  on: { readonly database: Database; readonly boundaries: Committing | undefined },
  script: () => Script<Result>,
  keeps?: After<Result>['keeps'],
): Promise<Result> {
  return on.database.attempt(async (queries) => {
    let isWritten = false;
    const result = await play(queries, script(), () => {
      isWritten = true;
    });
    return { keep: keeps === undefined ? isWritten : keeps(result), result };
  }, on.boundaries);
}

export async function play<Result>(
  queries: Queries,
  script: Script<Result>,
  onWritten?: () => void,
): Promise<Result> {
  let step = script.next();
  while (step.done !== true) {
    const yielded = step.value;
    const rows = 'run' in yielded ? await yielded.run(queries) : await rowsOf(queries, yielded);
    if (onWritten !== undefined && writes(yielded, rows)) onWritten();
    step = script.next(rows);
  }
  return step.value;
}

async function rowsOf(
  queries: Queries,
  { sql, values }: ScriptStatement,
): Promise<readonly unknown[]> {
  const { postgres } = sql;
  return postgres.text === '' ? [] : queries.rows(statementOf(sql), valuesOf(postgres, values));
}

/** A statement with `returning` wrote nothing if it returned no rows. */
function writes(yielded: ScriptStatement | Native, rows: unknown): boolean {
  if ('run' in yielded) return true;
  const { text } = yielded.sql.postgres;
  return WRITES.test(text) && (!RETURNS.test(text) || (rows as readonly unknown[]).length > 0);
}

/** The driver layer identifies statements by object, so each text has one object. */
const STATEMENTS = new WeakMap<Sql, Statement>();

function statementOf(sql: Sql): Statement {
  let known = STATEMENTS.get(sql);
  if (known === undefined) {
    known = statement(sql.postgres.text);
    STATEMENTS.set(sql, known);
  }
  return known;
}
