// How the tables of SQLite differ from what is exported.

import {
  type Differs,
  exportedColumns,
  writtenColumns,
} from '../../../features/export/columns-rows.ts';
import type { Connection } from '../connection.ts';

export const DIFFERS: Readonly<Record<string, Differs>> = {
  // Inputs have a table of their own, and rows an id that is nobody else's business.
  execution: {
    reads: { input: '(select input.input from input where input.row_id = execution.row_id)' },
    writes: { row_id: 'null' },
    also: 'insert into input (row_id, input) values (last_insert_rowid(), :input)',
  },
  history: {
    reads: {
      execution_id: '(select execution.id from execution where execution.row_id = history.row_id)',
    },
    writes: { row_id: '(select row_id from execution where id = :execution_id)' },
  },
  rate: { reads: { burst_left: 'burst' }, writes: { burst: ':burst_left' } },
  errand: {
    reads: { after_id: "nullif(after_id, '')" },
    writes: { after_id: "coalesce(:after_id, '')" },
  },
  job_item: { reads: { target_id: 'target' }, writes: { target: ':target_id' } },
  // Of kinds 0 and 1 text, of 2 a number, of 3 a boolean.
  label: {
    reads: {
      value: "case kind when 2 then null when 3 then iif(value, 'true', 'false') else value end",
      number: 'case kind when 2 then value end',
    },
    writes: { value: "case :kind when 2 then :number when 3 then :value = 'true' else :value end" },
  },
};

function found(connection: Connection, table: string): readonly string[] {
  const rows = connection.all<{ name: string }>('select name from pragma_table_info(:table)', {
    table,
  });
  return rows.map(({ name }) => name);
}

export function columnsOf(connection: Connection, table: string): readonly string[] | undefined {
  const columns = found(connection, table);
  return columns.length === 0 ? undefined : exportedColumns(columns, DIFFERS[table]);
}

export function selecting(table: string, columns: readonly string[]): string {
  const { reads = {} } = DIFFERS[table] ?? {};
  const parts = columns.map((name) => `${reads[name] ?? `${table}."${name}"`} as "${name}"`);
  return `select ${parts.join(', ')} from ${table}`;
}

export function inserting(
  connection: Connection,
  table: string,
  given: readonly string[],
): readonly string[] {
  const written = writtenColumns(found(connection, table), DIFFERS[table], given);
  const names = written.map(([name]) => `"${name}"`).join(', ');
  const values = written.map(([, expression]) => expression).join(', ');
  const { also } = DIFFERS[table] ?? {};
  const insert = `insert into ${table} (${names}) values (${values})`;
  return also === undefined ? [insert] : [insert, also];
}
