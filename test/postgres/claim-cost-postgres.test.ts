// a claim reads as many blocks beside the dead sessions of another project as without them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import {
  claiming,
  claimOnce,
  endSessionOf,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  worker,
} from '../../contract/execution/worker.ts';
import { settingsOf } from '../../src/store/postgres/connect.ts';
import { Database, numbersForBigints, STORE_NOW_SQL } from '../../src/store/postgres/database.ts';
import { CLAIM_READY } from '../../src/store/postgres/executions/claim-statement.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

const DEAD = 100;

test('X-90: a claim reads no more beside the dead sessions of another project', async (t) => {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  const pool = new pg.Pool({ connectionString: url, types: numbersForBigints(pg.types) });
  const database = new Database(pool, { schema: 'hf', nowSql: STORE_NOW_SQL, prepare: true });
  t.after(async () => {
    await pool.end();
    await store.close();
    await release();
  });
  const ann = await worker(store);
  const values = [
    ann.id,
    `{${PIPELINE}}`,
    '{0}',
    '{1}',
    '{1}',
    PROJECT,
    0.5,
    0,
    false,
    null,
    false,
  ];
  const claimed = async (): Promise<{ blocks: number; takesOver: boolean }> => {
    const client = await pool.connect();
    const text = database.fill(CLAIM_READY.text);
    await client.query(`begin; ${settingsOf({ url: '', pooler: true })}`);
    const explained = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    const { rows } = await client.query(text, values);
    await client.query('rollback');
    client.release();
    const { Plan: plan } = explained.rows[0]['QUERY PLAN'][0];
    const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    return { blocks, takesOver: rows[0].takes_over };
  };
  await mustSubmit(store);
  await claimed();
  const before = await claimed();
  for (let nth = 0; nth < DEAD; nth += 1) {
    const eve = await worker(store, `eve ${nth}`);
    await mustSubmit(store, { project: OTHER_PROJECT });
    const { claims } = await claimOnce(store, claiming(eve, 1, { project: OTHER_PROJECT }));
    assert.equal(claims.length, 1);
    await endSessionOf(store, eve);
  }
  const beside = await claimed();
  assert.equal(beside.takesOver, false, 'lost executions of another project are not looked for');
  assert.ok(
    beside.blocks < before.blocks + 2 * DEAD,
    `${beside.blocks} blocks, ${before.blocks} without those sessions`,
  );
});
