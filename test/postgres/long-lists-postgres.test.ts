// One page of a list with several filters checks a bounded number of rows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { PROJECT } from '../../contract/execution/worker.ts';
import { LIST_ROWS_MAX } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

const idOf = (nth: number): string =>
  `01900000-0000-7000-8000-${nth.toString(16).padStart(12, '0')}`;

test('X-22: a page by tag and status looks at 10,000 rows', async (t) => {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  const client = new pg.Client(url);
  await client.connect();
  t.after(async () => {
    await client.end();
    await store.close();
    await release();
  });
  await client.query(
    `insert into hf.label (project, kind, name, value, execution_id)
     select '${PROJECT}', 0, '', 'red', ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
       from generate_series(1, ${LIST_ROWS_MAX + 5}) n`,
  );
  const query = { project: PROJECT, tag: 'red', limit: 10 } as const;
  assert.equal(await store.executions.listEdge(query), undefined, 'there is no other filter');
  assert.equal(await store.executions.listEdge({ ...query, status: ['failed'] }), idOf(6));
});
