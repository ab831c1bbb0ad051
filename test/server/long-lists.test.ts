// One page of a list or of errands reads a bounded number of rows on SQLite too.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { mustSubmit, PIPELINE, PROJECT, worker } from '../../contract/execution/worker.ts';
import { LIST_CHECKS } from '../../src/store/sql/list-leads.ts';
import { dialects } from '../../src/store/sql/script.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { MANY_ERRANDS, showErrandPages } from './many-errands.ts';

/** A store, with a connection of the test to its file. */
async function freshStore(t: TestContext) {
  const { file, remove } = await freshSqliteFile();
  const store = await openSqliteStore({ file });
  const database = new DatabaseSync(file);
  t.after(async () => {
    database.close();
    await store.close();
    await remove();
  });
  return { store, database };
}

test('X-22: on SQLite, a count by a tag and ten ranges of attributes examines 2,000 rows', async () => {
  const store = openMemoryStore();
  const names = Array.from({ length: 10 }, (_, nth) => `a${nth}`);
  const about = { tags: ['red'], attributes: Object.fromEntries(names.map((name) => [name, 1])) };
  const submitted: string[] = [];
  for (let nth = 0; nth < 2_500; nth += 1) submitted.push(await mustSubmit(store, about));
  const attributes = names.map((name) => ({ name, min: 0 }));
  const query = { project: PROJECT, tag: 'red', attributes, limit: 10 } as const;
  const [edge] = submitted.sort().slice(-2_000);
  assert.deepEqual(await store.executions.count(query), { count: 2_000, next: { id: edge } });
  const rest = await store.executions.count({ ...query, after: { id: edge } as never });
  assert.deepEqual(rest, { count: 500 });
  await store.close();
});

test('X-22: SQLite walks over the attributes of a row once, however many it checks', async (t) => {
  const { file, remove } = await freshSqliteFile();
  const database = new DatabaseSync(file);
  t.after(async () => {
    database.close();
    await remove();
  });
  const sqlite = `select 1 from execution as e indexed by execution_list where e.project = :project and ${LIST_CHECKS.sqlite}`;
  const { text } = dialects({ sqlite, postgres: '' }).sqlite;
  const plan = database.prepare(`explain query plan ${text}`).all();
  const steps = plan.map(({ detail }) => String(detail));
  const walk = steps.findIndex((step) => step.startsWith('SCAN a '));
  const filters = steps.findIndex((step) => /^(SCAN|SEARCH) n\b/.test(step));
  assert.ok(walk !== -1 && walk < filters, steps.join('\n'));
});

test('X-96: on SQLite, errands are read by pages, so those of one project do not hide those of another', async (t) => {
  const { store, database } = await freshStore(t);
  database.exec(`
    create temp table parent as
    with recursive number (n) as (select 1 union all select n + 1 from number where n < ${MANY_ERRANDS})
    select format('01000000-0000-7000-8000-%012x', n) as id from number;
    insert into execution (id, status, news, seq, hold, lane, gated, has_place, claimed_seq, previous, saga, fruitless, wake_after, submitted_at, ended_at, project, pipeline)
    select id, 10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, '${PROJECT}', 'orders' from parent;
    insert into errand (parent_id, after_id) select id, '' from parent`);
  const count = database.prepare('select count(*) as errands from errand');
  await showErrandPages(store, () => Number(count.get()?.['errands']));
});

test('RE-9: a worker that starts deletes ten announcements of sessions that no longer exist', async (t) => {
  const { store, database } = await freshStore(t);
  database.exec(`
    create temp table old as
    with recursive number (n) as (select 1 union all select n + 1 from number where n < 25)
    select format('01000000-0000-7000-8000-%012x', n) as id from number;
    insert into worker (session_id, announced_at, proved_at, every_ms, room, state, project, pipelines)
    select id, 1, 1, 1, 1, 'ready', '${PROJECT}', '[]' from old;
    insert into worker_route (session_id, project, route) select id, '${PROJECT}', 'orders' from old`);
  const { id } = await worker(store);
  const about = { session: id, pipelines: [PIPELINE], everyMs: 1_000, room: 1 };
  const left = (table: string) =>
    Number(database.prepare(`select count(*) as rows from ${table}`).get()?.['rows']);
  const rows: (readonly number[])[] = [];
  for (let nth = 0; nth < 3; nth += 1) {
    await store.executions.announce({ ...about, project: PROJECT, state: 'starting' });
    rows.push([left('worker'), left('worker_route')]);
  }
  assert.deepEqual(rows, [
    [16, 15],
    [6, 5],
    [1, 0],
  ]);
});
