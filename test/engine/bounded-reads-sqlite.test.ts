import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { PROJECT } from '../../contract/execution/worker.ts';
import { DEPTH_OF_PROJECT } from '../../src/store/sql/census.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { BOUNDED_CASES, SCRIPT_CASES } from './bounded-reads/cases.ts';

for (const { name, run } of [...BOUNDED_CASES, ...SCRIPT_CASES]) {
  test(name, async () => {
    const store = openMemoryStore();
    await run(store);
    await store.close();
  });
}

test('X-41: the depth of a project reads only rows of that project', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hf-depth-'));
  const file = join(folder, 'hf.db');
  const store = await openSqliteStore({ file });
  await store.close();
  const database = new DatabaseSync(file);
  t.after(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });
  const plan = database
    .prepare(`explain query plan ${DEPTH_OF_PROJECT.sqlite.text}`)
    .all({ project: PROJECT, max: 10, now: 0 })
    .map(({ detail }) => String(detail));
  const reads = plan.filter((each) => /\be\b.* INDEX /.test(each));
  assert.ok(reads.length >= 4, plan.join('\n'));
  for (const each of reads) assert.match(each, /^SEARCH e .*project=\?/);
});
