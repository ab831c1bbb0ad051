// The planner makes a plan once for each connection and keeps it, even after an empty table has
// grown to millions of rows. So the test explains every statement with statistics of empty, small
// and huge tables. No plan may read a table or an index from end to end.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';
import { postgresForTests } from '../services/postgres.ts';

const FOLDER = join(import.meta.dirname, '../../src/store/postgres');

/**
 * Statements that read a whole index by design: they act on all sessions, are lists for people, or
 * run once in a while in pieces.
 */
const NOT_HOT: readonly string[] = [
  ...['../sql/archived.ts', '../sql/census.ts', '../sql/dead-letters.ts'],
  ...['../sql/reconcile.ts', '../sql/remove.ts'],
  ...['sweep.ts', '../sql/leases/sweep.ts', 'oldest-snapshot.ts', 'recover.ts'],
  ...['../sql/workers.ts', '../sql/refusals.ts', '../sql/access/keys.ts'],
  ...['../sql/access/channels.ts', '../sql/access/alerts.ts'],
  ...['export/rows.ts', 'export/seal.ts', '../sql/seal.ts'],
];

interface Made {
  readonly text: string;
  /** The modules that created it, the last one first. */
  readonly by: readonly string[];
}

/** The folders with statements: for PostgreSQL alone, and for both SQL stores. */
const HOOKS = [
  {
    file: 'database.ts',
    head: 'export function statement(text: string): Statement {',
    recording:
      'export function statement(text: string): Statement { (globalThis as any).recordStatement(text);',
  },
  {
    file: '../sql/script.ts',
    head: 'function toPostgres(text: string): Text {',
    recording: `function toPostgres(text: string): Text {
      const made = positional(text); (globalThis as any).recordStatement(made.text); return made; }
      function positional(text: string): Text {`,
  },
] as const;

/** Every statement that the modules of the store create when they are loaded. */
async function loadStatements(): Promise<readonly Made[]> {
  const made = new Map<string, Made>();
  const record = (text: string): void => {
    const frames = (new Error().stack ?? '').matchAll(/file:\/\/[^:]+\.ts/g);
    const files = [...frames].map(([url]) => relative(FOLDER, fileURLToPath(url)));
    const by = files.filter((file) => /^(?!\.\.|database)|^\.\.\/sql\/(?!script)/.test(file));
    if (!made.has(text)) made.set(text, { text, by });
  };
  Object.assign(globalThis, { recordStatement: record });
  registerHooks({
    load(url, context, nextLoad) {
      const hook = HOOKS.find(({ file }) => url === pathToFileURL(join(FOLDER, file)).href);
      if (hook === undefined) return nextLoad(url, context);
      const source = readFileSync(join(FOLDER, hook.file), 'utf8');
      assert(source.includes(hook.head), 'statements are made in two places');
      const format = 'module-typescript';
      const recording = source.replace(hook.head, hook.recording);
      return { format, source: recording, shortCircuit: true };
    },
  });
  const files = globSync('**/*.ts', { cwd: FOLDER }).filter((file) => !file.endsWith('.test.ts'));
  for (const file of files) await import(pathToFileURL(join(FOLDER, file)).href);
  return [...made.values()];
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly 'Parent Relationship'?: string;
  readonly Plans?: readonly Plan[];
}

/**
 * Tables with few rows however long the store has run: executions that workers carry now, and
 * pending requests of people.
 */
const SMALL_INDEXES = ['execution_running', 'inbox_asked'];

/** Nodes that pass rows on one by one, so that a limit above them stops the scan below. */
const STREAMING = ['LockRows', 'Nested Loop', 'Result', 'Subquery Scan'];

/** The scan reads only first entries: below a limit, or by an `exists`. */
function isLimited(plan: Plan, above: readonly string[]): boolean {
  const stops = above.findLast((kind) => !STREAMING.includes(kind));
  const isFirst = stops === 'Limit' || plan['Parent Relationship'] === 'InitPlan';
  return plan.Filter === undefined && isFirst;
}

/** Scans that read more than an index condition on a leading column, or a limit, allows. */
function wholeScans(
  plan: Plan,
  leading: ReadonlyMap<string, string>,
  above: readonly string[] = [],
): readonly string[] {
  const kind = plan['Node Type'];
  const below = (plan.Plans ?? []).flatMap((each) => wholeScans(each, leading, [...above, kind]));
  if (!/^(Seq|Index|Index Only|Bitmap Heap) Scan$/.test(kind)) return below;
  const index = plan['Index Name'] ?? '';
  const column = leading.get(index);
  const isSequence = kind === 'Seq Scan' && leading.has(`sequence ${plan['Relation Name']}`);
  const isBound =
    column !== undefined && new RegExp(`\\b${column}\\b`).test(plan['Index Cond'] ?? '');
  const isSmall = SMALL_INDEXES.includes(index);
  if (isSequence || isSmall || isBound || isLimited(plan, above)) return below;
  return [`${kind} of ${plan['Relation Name']} ${index} ${plan.Filter ?? ''}`.trim(), ...below];
}

/** The first column of each index. Sequences are listed too. */
const LEADING = `
  select c.relname as index, pg_get_indexdef(c.oid, 1, true) as column
    from pg_class c
   where c.relnamespace = 'hf'::regnamespace and c.relkind = 'i'
   union all
  select 'sequence ' || c.relname, '' from pg_class c where c.relnamespace = 'hf'::regnamespace and c.relkind = 'S'`;

/** One row for each table, since the planner asks the file how many pages there are. */
const FILL = `
  do $$
  declare made text;
  begin
    for made in
      select format('insert into hf.%I (%s) values (%s) on conflict do nothing', c.relname,
                    string_agg(quote_ident(a.attname), ', '),
                    string_agg(case when t.typcategory = 'A' then '''{}''' when t.typname in ('jsonb', 'json') then '''{}'''
                                    when t.typname = 'uuid' then 'gen_random_uuid()' when t.typname = 'bool' then 'true'
                                    when t.typname = 'timestamptz' then 'now()' when t.typname = 'bytea' then '''''' else '''1''' end, ', '))
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity = ''
        join pg_type t on t.oid = a.atttypid
       where c.relnamespace = 'hf'::regnamespace and c.relkind = 'r'
       group by c.relname
    loop
      execute made;
    end loop;
  end $$`;

const claimed = (tuples: number): string =>
  `update pg_class set reltuples = ${tuples} where relnamespace = 'hf'::regnamespace and relkind in ('r', 'i')`;

const STATISTICS: readonly { readonly of: string; readonly set: readonly string[] }[] = [
  { of: 'empty tables', set: ['analyze'] },
  { of: 'small tables', set: [FILL, 'analyze'] },
  { of: 'huge tables', set: [claimed(100_000_000)] },
  // Retention has deleted everything, and the pages are still there.
  { of: 'tables that are empty again', set: [claimed(0)] },
];

test('no plan reads a table or an index from end to end, whatever the statistics', async (t) => {
  const statements = await loadStatements();
  const { openPostgresStore } = await import('../../src/store/postgres/open.ts');
  const { settingsOf } = await import('../../src/store/postgres/connect.ts');
  const { Database, STORE_NOW_SQL } = await import('../../src/store/postgres/database.ts');
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  await store.close();
  const client = new pg.Client(url);
  await client.connect();
  t.after(() => client.end().finally(release));
  await client.query((settingsOf({ url, pooler: true }) ?? '').replaceAll('set local', 'set'));
  await client.query('set session_replication_role = replica');
  const config = { schema: 'hf', nowSql: STORE_NOW_SQL, prepare: true };
  const database = new Database(new pg.Pool(), config);
  const listed = await client.query<{ index: string; column: string }>(LEADING);
  const leading = new Map(listed.rows.map(({ index, column }) => [index, column]));
  const hot = statements.filter(
    ({ text, by }) =>
      /^\s*\(?\s*(select|insert|update|delete|with)\b/.test(text) &&
      !by.some((file) => NOT_HOT.includes(file)),
  );
  assert(hot.length > 150, `${hot.length} of ${statements.length} statements are looked at`);
  for (const [nth, { text }] of hot.entries()) {
    await client.query(`prepare hot${nth} as ${database.fill(text)}`);
  }
  for (const { of, set } of STATISTICS) {
    await t.test(of, async () => {
      for (const sql of set) await client.query(sql);
      const found: string[] = [];
      for (const [nth, { text, by }] of hot.entries()) {
        const count = Math.max(
          0,
          ...[...text.matchAll(/\$(\d+)/g)].map(([, digits]) => Number(digits)),
        );
        const values = count === 0 ? '' : `(${new Array(count).fill('null').join(', ')})`;
        const { rows } = await client.query(`explain (format json) execute hot${nth}${values}`);
        const scans = wholeScans(rows[0]['QUERY PLAN'][0].Plan, leading);
        for (const scan of scans) {
          found.push(
            `${by.join(' ')}: ${scan}\n  ${text.trim().slice(0, 100).replaceAll(/\s+/g, ' ')}`,
          );
        }
      }
      assert.deepEqual(found, []);
    });
  }
});
