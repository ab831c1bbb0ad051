// A submit in a transaction of the user: both are stored, or neither.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Pool, type PoolClient } from 'pg';
import { Holdfast, pipeline } from '../../src/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { until } from '../server/coordinator.ts';
import { postgresForTests } from '../services/postgres.ts';

const { url, release } = await postgresForTests();
const pool = new Pool({ connectionString: url });
// A connection that is still closing when the database is dropped reports an error.
pool.on('connect', (client) => client.on('error', () => undefined));
const store = await openPostgresStore({ url });
const holdfast = new Holdfast({ store });
const order = pipeline({ name: 'order', run: (ctx, n: number) => ctx.step('add', () => n + 1) });
await pool.query('create table if not exists bought (n integer primary key)');

after(async () => {
  await holdfast.close();
  await store.close();
  await pool.end();
  await release();
});

/** In a transaction that also buys `n`. */
async function within<Result>(
  n: number,
  end: 'commit' | 'rollback',
  submit: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('insert into bought values ($1)', [n]);
    const result = await submit(client);
    await client.query(end);
    return result;
  } finally {
    client.release();
  }
}

const isBought = async (n: number): Promise<boolean> =>
  (await pool.query('select from bought where n = $1', [n])).rowCount === 1;

test('X-10, X-59: an execution submitted with a client is there once its transaction commits, and runs', async () => {
  const handle = await within(1, 'commit', async (client) => {
    const inside = await holdfast.submit(order, 1, { client, key: 'one' });
    assert.equal(await holdfast.read(inside.id), undefined, 'no other connection sees it yet');
    return inside;
  });
  assert.deepEqual([await isBought(1), handle.existing], [true, false]);
  const worker = await holdfast.worker({ pipelines: [order] });
  assert.equal(await handle.result(), 2);
  await worker.stop();
});

test('X-10, X-59: a submit that is rolled back leaves nothing, and its key is free', async () => {
  const { id } = await within(2, 'rollback', (client) =>
    holdfast.submit(order, 2, { client, key: 'two' }),
  );
  assert.deepEqual([await isBought(2), await holdfast.read(id)], [false, undefined]);
  assert.equal((await holdfast.submit(order, 2, { key: 'two' })).existing, false);
});

test('X-10: the same key and intent is the same execution, another intent is refused, and the rest commits', async () => {
  const { id } = await holdfast.submit(order, 3, { key: 'three' });
  await within(3, 'commit', async (client) => {
    const same = await holdfast.submit(order, 3, { client, key: 'three' });
    assert.deepEqual([same.id, same.existing], [id, true]);
    await assert.rejects(holdfast.submit(order, 4, { client, key: 'three' }), {
      code: 'submit-refused',
    });
  });
  assert.equal(await isBought(3), true);
});

test('X-10: the loser of a race for a key gets the winner, in a transaction that goes on', async () => {
  const first = await pool.connect();
  await first.query('begin');
  const winner = await holdfast.submit(order, 4, { client: first, key: 'four' });
  const losing = within(4, 'commit', (client) =>
    holdfast.submit(order, 4, { client, key: 'four' }),
  );
  const WAITING = "select from pg_stat_activity where wait_event = 'transactionid'";
  await until(async () => ((await pool.query(WAITING)).rowCount === 0 ? undefined : true));
  await first.query('commit');
  first.release();
  const loser = await losing;
  assert.deepEqual([loser.id, loser.existing, await isBought(4)], [winner.id, true, true]);
});

test('a client without a transaction, an invalid client, and a store without transactions are refused', async () => {
  const client = await pool.connect();
  const none = /client has no open transaction\. Nothing was submitted/;
  await assert.rejects(holdfast.submit(order, 5, { client }), none);
  client.release();
  await assert.rejects(
    holdfast.submit(order, 5, { client: {} as never }),
    /client must be an object/,
  );
  const elsewhere = new Holdfast({ store: openMemoryStore() });
  await assert.rejects(elsewhere.submit(order, 5, { client }), /client needs a PostgreSQL store/);
  await elsewhere.close();
});
