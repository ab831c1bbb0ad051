// One page of a list with several filters, or of errands, reads a bounded number of rows.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { PROJECT } from '../../contract/execution/worker.ts';
import { LIST_ROWS_MAX } from '../../src/store/contract/execution-reads.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { PostgresStoreOptions } from '../../src/store/postgres/store-options.ts';
import { until } from '../processes/stage/until.ts';
import { MANY_ERRANDS, showErrandPages } from '../server/many-errands.ts';
import { postgresForTests } from '../services/postgres.ts';

const idOf = (nth: number): string =>
  `01900000-0000-7000-8000-${nth.toString(16).padStart(12, '0')}`;

async function opened(t: TestContext, options: Partial<PostgresStoreOptions> = {}) {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf', ...options });
  const client = new pg.Client(url);
  await client.connect();
  t.after(async () => {
    await client.end();
    await store.close();
    await release();
  });
  return { store, client };
}

test('X-22: a page with several filters examines 10,000 rows and returns where it stopped', async (t) => {
  const { store, client } = await opened(t);
  // All but the oldest have a parent.
  await client.query(
    `with row as materialized (
       select n, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id
         from generate_series(1, ${LIST_ROWS_MAX + 5}) n),
     submitted as (
       insert into hf.execution (id, submitted_at, seq, status, lane, project, pipeline, input, parent_id)
       select id, 1, 1, 0, 0, '${PROJECT}', 'orders', '1', case when n > 1 then '${idOf(1)}'::uuid end from row)
     insert into hf.label (project, kind, name, value, execution_id)
     select '${PROJECT}', 0, '', 'red', id from row`,
  );
  const query = { project: PROJECT, tag: 'red', limit: 10 } as const;
  const { find, count } = store.executions;
  assert.deepEqual((await find(query)).ids.at(0), idOf(LIST_ROWS_MAX + 5));
  const first = await find({ ...query, topLevel: true });
  assert.deepEqual(first, { ids: [], next: { id: idOf(6) } });
  const second = await find({ ...query, topLevel: true, after: { id: idOf(6) } as never });
  assert.deepEqual(second, { ids: [idOf(1)] });
  const oldest = { ...query, sort: 'oldest', tag: 'red', topLevel: true } as const;
  assert.deepEqual(await find(oldest), { ids: [idOf(1)], next: { id: idOf(LIST_ROWS_MAX) } });
  // The index of pipelines and statuses reads 2,000 rows of each.
  const { tag: _, ...untagged } = query;
  const parts = await find({ ...untagged, topLevel: true });
  assert.deepEqual(parts, { ids: [], next: { id: idOf(LIST_ROWS_MAX + 5 - 1_999) } });
  assert.deepEqual(await count({ ...untagged }), { count: LIST_ROWS_MAX + 1 });
});

test('X-22: a count by a tag and ten ranges of attributes examines 2,000 rows, each parsed once', async (t) => {
  // The JSON of 10,000 rows, parsed for each comparison, took 4 s.
  const { store, client } = await opened(t, { statementTimeoutMs: 2_000 });
  const rows = 15_000;
  await client.query(
    `with row as materialized (
       select ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id
         from generate_series(1, ${rows}) n),
     submitted as (
       insert into hf.execution (id, submitted_at, seq, status, lane, project, pipeline, input, about)
       select id, 1, 1, 0, 0, '${PROJECT}', 'orders', '1', (
              select json_build_object('attributes', json_object_agg('a' || i, i))::text from generate_series(0, 29) i)
         from row),
     tagged as (
       insert into hf.label (project, kind, name, value, execution_id)
       select '${PROJECT}', 0, '', 'red', id from row)
     insert into hf.label (project, kind, name, number, execution_id)
     select '${PROJECT}', 2, 'a' || i, i, id from row, generate_series(0, 9) i`,
  );
  const attributes = Array.from({ length: 10 }, (_, nth) => ({ name: `a${nth}`, min: 0 }));
  const query = { project: PROJECT, tag: 'red', attributes, limit: 10 } as const;
  const counted = await store.executions.count(query);
  assert.deepEqual(counted, { count: 2_000, next: { id: idOf(rows - 1_999) } });
  // An index serves a single attribute, so the store parses no row and counts them all.
  const equal = { project: PROJECT, attributes: [{ name: 'a0', equals: 0 }], limit: 10 } as const;
  assert.equal((await store.executions.count(equal)).count, LIST_ROWS_MAX + 1);
});

test('X-22: a list reads only its own part of an index, whatever lies beside it', async (t) => {
  const { store, client } = await opened(t);
  const rows = 200_000;
  // One second each. The neighbour sorts before the listed project.
  await client.query(
    `with row as materialized (
       select n, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id,
              case when n % 2 = 0 then 'a-neighbour' else '${PROJECT}' end as project
         from generate_series(1, ${rows}) n),
     ended as (
       insert into hf.execution (id, submitted_at, ended_at, seq, status, lane, project, pipeline, input)
       select id, 1, n * 1000, 1, 11, 0, project, 'orders', '1' from row)
     insert into hf.dead_letter (execution_id, at, attempts, status, project, pipeline, category, code, reason)
     select id, n * 1000, 1, 11, project, 'orders', 'permanent', 'timeout', '' from row
      where project = 'a-neighbour' or n < 10`,
  );
  await client.query('vacuum (analyze) hf.execution, hf.dead_letter');
  const query = { project: PROJECT, limit: 10 } as const;
  const blocks = async (table: string): Promise<number> => {
    const { rows: found } = await client.query(
      `select heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit as blocks
         from pg_statio_user_tables where relname = $1`,
      [table],
    );
    return Number(found[0].blocks);
  };
  const before = [await blocks('execution'), await blocks('dead_letter')];
  const { find, count } = store.executions;
  const hour = { ...query, endedFrom: 1_000_000, endedTo: 1_100_000 } as never;
  assert.equal((await find(hour)).ids.length, 10);
  assert.equal((await find({ ...(hour as object), sort: 'ended' } as never)).ids.length, 10);
  assert.deepEqual(await count(hour), { count: 50 });
  assert.equal((await find({ ...query, code: 'timeout' })).ids.length, 5);
  assert.deepEqual(await count({ ...query, code: 'timeout' }), { count: 5 });
  // A connection reports what it read when it ends.
  await store.close();
  await until('no connection of the store is left', async () => {
    const { rows: found } = await client.query(
      `select count(*)::int as others from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    return found[0].others === 0;
  });
  const after = [await blocks('execution'), await blocks('dead_letter')];
  const read = after.map((each, nth) => each - (before[nth] ?? 0));
  assert.ok(Math.max(...read) < 500, `blocks of execution, dead_letter: ${read}`);
});

test('X-96: errands are read by pages, so those of one project do not hide those of another', async (t) => {
  const { store, client } = await opened(t);
  await client.query(
    `with row as materialized (
       select ('01000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id
         from generate_series(1, ${MANY_ERRANDS}) n),
     parent as (
       insert into hf.execution (id, submitted_at, ended_at, seq, status, lane, project, pipeline, input)
       select id, 1, 1, 1, 10, 0, '${PROJECT}', 'orders', '1' from row)
     insert into hf.errand (parent_id) select id from row`,
  );
  await showErrandPages(store, async () => {
    const { rows } = await client.query('select count(*) as errands from hf.errand');
    return Number(rows[0].errands);
  });
});
