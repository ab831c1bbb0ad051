// One page of a list that checks attributes parses a bounded number of rows on SQLite too.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { mustSubmit, PROJECT } from '../../contract/execution/worker.ts';
import { LIST_CHECKS } from '../../src/store/sql/list.ts';
import { dialects } from '../../src/store/sql/script.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';

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
