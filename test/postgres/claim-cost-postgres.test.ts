// a claim reads as many blocks beside the dead sessions of another project as without them, and no more beside
// thousands of executions that one session left than beside hundreds.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import {
  claimAll,
  claiming,
  claimOnce,
  endSessionOf,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  worker,
} from '../../contract/execution/worker.ts';
import type { OpenedSession } from '../../contract/lease/opened-session.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { settingsOf } from '../../src/store/postgres/connect.ts';
import { Database, numbersForBigints, STORE_NOW_SQL } from '../../src/store/postgres/database.ts';
import { CLAIM, CLAIM_READY } from '../../src/store/postgres/executions/claim-statement.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { postgresForTests } from '../services/postgres.ts';

const DEAD = 100;

interface Stand {
  readonly store: CoordinatorStore;
  /** Explains a claim of this session, and rolls it back. */
  explain(
    text: string,
    who: OpenedSession,
  ): Promise<{ readonly blocks: number; readonly takesOver: boolean }>;
}

async function open(t: TestContext): Promise<Stand> {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  const pool = new pg.Pool({ connectionString: url, types: numbersForBigints(pg.types) });
  // The server ends its connections with the database.
  pool.on('error', () => undefined);
  const database = new Database(pool, { schema: 'hf', nowSql: STORE_NOW_SQL, prepare: true });
  t.after(async () => {
    await pool.end();
    await store.close();
    await release();
  });
  return {
    store,
    async explain(text, { id }) {
      const asked = [id, `{${PIPELINE}}`, '{0}', '{1}', '{1}', PROJECT, 0.5, 0, false, null, false];
      const filled = database.fill(text);
      const client = await pool.connect();
      await client.query(`begin; ${settingsOf({ url: '', pooler: true })}`);
      const explained = await client.query(
        `explain (analyze, buffers, format json) ${filled}`,
        asked,
      );
      const { rows } = await client.query(filled, asked);
      await client.query('rollback');
      client.release();
      const { Plan: plan } = explained.rows[0]['QUERY PLAN'][0];
      const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      return { blocks, takesOver: rows[0].takes_over };
    },
  };
}

test('X-90: a claim reads no more beside the dead sessions of another project', async (t) => {
  const { store, explain } = await open(t);
  const ann = await worker(store);
  await mustSubmit(store);
  await explain(CLAIM_READY.text, ann);
  const before = await explain(CLAIM_READY.text, ann);
  for (let nth = 0; nth < DEAD; nth += 1) {
    const eve = await worker(store, `eve ${nth}`);
    await mustSubmit(store, { project: OTHER_PROJECT });
    const { claims } = await claimOnce(store, claiming(eve, 1, { project: OTHER_PROJECT }));
    assert.equal(claims.length, 1);
    await endSessionOf(store, eve);
  }
  const beside = await explain(CLAIM_READY.text, ann);
  assert.equal(beside.takesOver, false, 'lost executions of another project are not looked for');
  assert.ok(
    beside.blocks < before.blocks + 2 * DEAD,
    `${beside.blocks} blocks, ${before.blocks} without those sessions`,
  );
});

test('X-90: a claim reads no more beside 4,000 suspects of one dead session than beside 1,000', async (t) => {
  const { store, explain } = await open(t);
  const lose = async (count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, () => mustSubmit(store)));
    for (const name of ['first', 'second']) {
      const who = await worker(store, `${name} of ${count}`);
      // It may try a suspect of an earlier session beside them.
      assert.ok((await claimAll(store, who)).length >= count);
      await endSessionOf(store, who);
    }
  };
  const ann = await worker(store);
  await lose(1_000);
  await explain(CLAIM.text, ann);
  const few = await explain(CLAIM.text, ann);
  await lose(3_000);
  await explain(CLAIM.text, ann);
  const many = await explain(CLAIM.text, ann);
  assert.ok(
    many.blocks < 1.5 * few.blocks,
    `${many.blocks} blocks beside 4,000 suspects, ${few.blocks} beside 1,000`,
  );
});
