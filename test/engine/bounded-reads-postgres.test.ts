import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { mustSubmit, OTHER_PROJECT, PROJECT } from '../../contract/execution/worker.ts';
import type { PipelineName } from '../../src/execution/names.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { DEPTH_OF_PROJECT } from '../../src/store/sql/census.ts';
import { postgresForTests } from '../services/postgres.ts';
import { BOUNDED_CASES } from './bounded-reads/cases.ts';

for (const { name, run } of BOUNDED_CASES) {
  test(name, async (t) => {
    const { url, release } = await postgresForTests();
    const store = await openPostgresStore({ url, schema: 'hf' });
    t.after(async () => {
      await store.close();
      await release();
    });
    await run(store);
  });
}

const OTHER_PIPELINES = 300;

test('X-41: the depth of a project reads only blocks of that project', async (t) => {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  const client = new pg.Client(url);
  await client.connect();
  t.after(async () => {
    await client.end();
    await store.close();
    await release();
  });
  const { text, names } = DEPTH_OF_PROJECT.postgres;
  const values: Readonly<Record<string, unknown>> = { project: PROJECT, max: 10 };
  const blocksRead = async (): Promise<number> => {
    const explained = await client.query(
      `explain (analyze, buffers, format json) ${text.replaceAll('hf_now()', '9e15::bigint')}`,
      names.map((name) => values[name]),
    );
    const { Plan: plan } = explained.rows[0]['QUERY PLAN'][0];
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  };
  await mustSubmit(store);
  await blocksRead();
  const before = await blocksRead();
  for (let nth = 0; nth < OTHER_PIPELINES; nth += 1) {
    await mustSubmit(store, { project: OTHER_PROJECT, pipeline: `p${nth}` as PipelineName });
  }
  const beside = await blocksRead();
  assert.ok(
    beside < before + OTHER_PIPELINES / 10,
    `${beside} blocks, ${before} without the other project`,
  );
});
