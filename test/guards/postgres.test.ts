import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { PostgresGuard, PostgresRowGuard, StaleFence } from '../../src/guards/postgres.ts';
import { postgresForTests } from '../services/postgres.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { openPostgres, TABLES, throughRow, throughTable } from './postgres-resource.ts';
import { testGuard } from './register.ts';

const LANES = 8;

testGuard({
  name: 'PostgreSQL table guard',
  open: () => openPostgres(throughTable),
  lanes: LANES,
});
testGuard({
  name: 'PostgreSQL row guard',
  open: () => openPostgres(throughRow),
  lanes: LANES,
});

const guard = new PostgresGuard();

/** A pool ends before its connections do, and dropping the database then ends them. */
function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 20 });
  pool.on('error', () => undefined);
  return pool;
}

async function openPool(t: TestContext): Promise<pg.Pool> {
  const database = await postgresForTests();
  const pool = poolOf(database.url);
  t.after(async () => {
    await pool.end();
    await database.release();
  });
  await pool.query(TABLES);
  return pool;
}

async function withClient<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
}

test('a lower fence is refused, an equal one passes, a higher one raises', async (t) => {
  const pool = await openPool(t);
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  const admit = (key: string, fence: typeof FIRST) => guard.admit(pool, { key, fence });
  assert.deepEqual(await admit('a', SECOND), { kind: 'current' });
  assert.deepEqual(await admit('a', SECOND), { kind: 'current' });
  assert.deepEqual(await admit('a', FIRST), stale);
  assert.deepEqual(await admit('a', FIRST), stale, 'a stale fence never lowers the mark');
  assert.deepEqual(await admit('b', FIRST), { kind: 'current' });
  assert.deepEqual(await admit('a', THIRD), { kind: 'current' });
});

test('a check needs a transaction', async (t) => {
  const pool = await openPool(t);
  const fenced = { key: 'a', fence: FIRST };
  // @ts-expect-error a pool is no transaction, and the compiler knows
  await assert.rejects(guard.check(pool, fenced), /got a pool/);
  await withClient(pool, async (client) => {
    await assert.rejects(guard.check(client, fenced), /a connection without one/);
    await client.query('begin');
    assert.deepEqual(await guard.check(client, fenced), { kind: 'current' });
    await client.query('rollback');
  });
});

test('StaleFence rolls the user’s transaction back', async (t) => {
  const pool = await openPool(t);
  await guard.admit(pool, { key: 'a', fence: SECOND });
  await withClient(pool, async (client) => {
    await client.query('begin');
    await client.query("insert into effect (resource, fence) values ('a', 1)");
    const stale = guard.require(client, { key: 'a', fence: FIRST });
    await assert.rejects(
      stale,
      (error) => error instanceof StaleFence && /Stop/.test(error.message),
    );
    await client.query('rollback');
  });
  assert.equal((await pool.query('select from effect')).rowCount, 0);
});

test('when admits race, the highest fence wins, whatever the order', async (t) => {
  const pool = await openPool(t);
  for (let round = 0; round < 50; round += 1) {
    const key = `race/${round}`;
    const order = round % 2 === 0 ? [FIRST, SECOND, THIRD] : [THIRD, FIRST, SECOND];
    const answers = await Promise.all(order.map((fence) => guard.admit(pool, { key, fence })));
    assert.equal(answers[order.indexOf(THIRD)]?.kind, 'current');
    const after = await guard.admit(pool, { key, fence: SECOND });
    assert.deepEqual(after, { kind: 'stale', resource: key, presented: SECOND, newest: THIRD });
  }
});

test('a row guard distinguishes a stale row from a missing one', async (t) => {
  const pool = await openPool(t);
  const rowGuard = new PostgresRowGuard({ table: 'public.account' });
  const where = { id: 'a' };
  const early = { key: 'a', fence: FIRST };
  assert.deepEqual(await rowGuard.admit(pool, early, where), { kind: 'missing' });
  await pool.query("insert into account (id) values ('a')");
  assert.deepEqual(await rowGuard.admit(pool, early, where), { kind: 'written', rows: 1 });
  const late = { key: 'a', fence: SECOND };
  const change = { set: { id: 'a' }, where };
  assert.deepEqual(await rowGuard.update(pool, late, change), { kind: 'written', rows: 1 });
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  assert.deepEqual(await rowGuard.update(pool, early, change), stale);
  const lowering = rowGuard.update(pool, late, { set: { '"Fence"': 0 }, where });
  await assert.rejects(lowering, /only the guard writes it/);
});
