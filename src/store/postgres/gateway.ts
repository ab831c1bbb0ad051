// Runs the verbs of store/sql on PostgreSQL.

import { type Gateway, type Script, type Sql, valuesOf } from '../sql/script.ts';
import { persistently } from './committer.ts';
import { type Queries, type Statement, statement } from './database.ts';
import type { Parts } from './executions/parts.ts';

const WRITES = /^\s*(insert|update|delete)\b/;
const RETURNS = /\breturning\b/;

type Place = Pick<Parts, 'database' | 'boundaries' | 'surroundings'>;

export function gatewayOf({ database, boundaries, surroundings }: Place): Gateway {
  const write: Gateway['repeat'] = (script, keeps) =>
    database.attempt(async (queries) => {
      let isWritten = false;
      const result = await play(queries, script(), () => {
        isWritten = true;
      });
      return { keep: keeps === undefined ? isWritten : keeps(result), result };
    }, boundaries);
  return {
    read: (script) => play(database, script()),
    write: (script) => write(script),
    repeat: (script, keeps) => persistently(surroundings, () => write(script, keeps)),
  };
}

export async function play<Answer>(
  queries: Queries,
  script: Script<Answer>,
  onWritten?: () => void,
): Promise<Answer> {
  let step = script.next();
  while (step.done !== true) {
    const { sql, values } = step.value;
    const rows = await queries.rows(statementOf(sql), valuesOf(sql.postgres, values));
    if (writes(sql.postgres.text, rows.length)) onWritten?.();
    step = script.next(rows);
  }
  return step.value;
}

/** A statement that returns what it wrote says when that is nothing. */
function writes(text: string, rows: number): boolean {
  return WRITES.test(text) && (rows > 0 || !RETURNS.test(text));
}

/** A statement is known by its identity, so each text has one. */
const STATEMENTS = new WeakMap<Sql, Statement>();

function statementOf(sql: Sql): Statement {
  let known = STATEMENTS.get(sql);
  if (known === undefined) {
    known = statement(sql.postgres.text);
    STATEMENTS.set(sql, known);
  }
  return known;
}
