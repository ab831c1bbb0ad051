import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import express from 'express';
import pg from 'pg';
import { expressFence, fencedFetch, permitOf } from '../../src/guards/http.ts';
import { PermitLost, PostgresGuard, postgresMarks } from '../../src/guards/postgres.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { postgresForTests } from '../services/postgres.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { listening, openHttp, startExpress, startFetchHandler } from './http-resource.ts';
import { type OpenResource, testGuard } from './register.ts';
import { underSteadyTraffic } from './steady-traffic.ts';

const early = { key: 'a', fence: FIRST };
const late = { key: 'a', fence: SECOND };
const latest = { key: 'a', fence: THIRD };

/** As short as possible: every pause of a request inside is longer. */
const IDLE_LIMIT = '-c idle_in_transaction_session_timeout=1';

/** A pool ends before its connections do, and dropping the database then ends them. */
function poolOf(url: string, settings: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 20, ...settings });
  pool.on('error', () => undefined);
  return pool;
}

for (const { name, start } of [
  { name: 'a fetch handler', start: startFetchHandler },
  { name: 'Express', start: startExpress },
]) {
  testGuard({
    name: `HTTP guard of ${name} with marks in PostgreSQL`,
    open: () => openHttpOver(start),
    lanes: 4,
    schedules: 30,
  });
}

async function openHttpOver(start: typeof startExpress): Promise<OpenResource> {
  const database = await postgresForTests();
  const pool = poolOf(database.url, { options: IDLE_LIMIT });
  const marks = postgresMarks(pool);
  await pool.query(marks.createTable);
  const http = await openHttp(start, marks);
  return {
    resource: (lane) => http.resource(lane),
    async close() {
      await http.close();
      await pool.end();
      await database.release();
    },
  };
}

interface Opened {
  readonly pool: pg.Pool;
  /** Another one on the same database. */
  open(settings?: pg.PoolConfig): pg.Pool;
}

async function open(t: TestContext): Promise<Opened> {
  const database = await postgresForTests();
  const pools: pg.Pool[] = [];
  const openPool = (settings?: pg.PoolConfig) => {
    const pool = poolOf(database.url, settings);
    pools.push(pool);
    return pool;
  };
  t.after(async () => {
    // Not awaited: after a failure a request may still be inside. Dropping the database ends it.
    for (const pool of pools) void pool.end();
    await database.release();
  });
  const pool = openPool();
  await pool.query(`${postgresMarks(pool).createTable}; ${new PostgresGuard().createTable}`);
  return { pool, open: openPool };
}

test('a later holder enters when all earlier ones have left', async (t) => {
  const { pool } = await open(t);
  const here = postgresMarks(pool, { waitMs: 50 });
  const there = postgresMarks(pool);
  const first = await here.enter(early);
  const beside = await there.enter(early);
  assert.ok(first.kind === 'entered' && beside.kind === 'entered', 'one term, side by side');
  assert.deepEqual(await here.enter(late), { kind: 'busy', resource: 'a' });
  await first.leave();
  await first.leave();
  const waiting = there.enter(late);
  await beside.leave();
  const entered = await waiting;
  assert.ok(entered.kind === 'entered');
  assert.equal((await here.enter(early)).kind, 'stale');
  await entered.leave();
});

test('a later holder that gets busy has shut out the earlier one', async (t) => {
  const { pool } = await open(t);
  const marks = postgresMarks(pool, { waitMs: 1 });
  const inside = await marks.enter(early);
  assert.ok(inside.kind === 'entered');
  assert.equal((await marks.enter(latest)).kind, 'busy');
  const stale = { kind: 'stale', resource: 'a', newest: THIRD };
  assert.deepEqual(await marks.enter(early), { ...stale, presented: FIRST });
  assert.deepEqual(await marks.enter(late), { ...stale, presented: SECOND });
  await inside.leave();
  const entered = await marks.enter(latest);
  assert.ok(entered.kind === 'entered');
  await entered.leave();
});

test('steady traffic of the old holder does not keep its successor out', async (t) => {
  const { pool } = await open(t);
  const traffic = await underSteadyTraffic(postgresMarks(pool), early, late);
  const { old, successor } = traffic;
  assert.deepEqual({ old, successor }, { old: 'stale', successor: 'entered' });
  t.diagnostic(JSON.stringify(traffic));
});

test('racing entries of three terms all end, and no two terms are inside', async (t) => {
  const { pool } = await open(t);
  const marks = postgresMarks(pool);
  for (let round = 0; round < 20; round += 1) {
    const inside: number[] = [];
    const visit = async (fence: typeof FIRST) => {
      const answer = await marks.enter({ key: `race/${round}`, fence });
      if (answer.kind !== 'entered') return assert.equal(answer.kind, 'stale');
      inside.push(fence);
      assert.deepEqual(new Set(inside), new Set([fence]));
      await pool.query('select');
      assert.deepEqual(new Set(inside), new Set([fence]));
      inside.splice(inside.indexOf(fence), 1);
      await answer.leave();
    };
    await Promise.all([FIRST, SECOND, THIRD].flatMap((fence) => [visit(fence), visit(fence)]));
  }
});

test('requests that begin a term together are inside together', async (t) => {
  const { pool } = await open(t);
  const marks = postgresMarks(pool, { waitMs: 3_000 });
  for (let round = 0; round < 20; round += 1) {
    const fenced = { key: 'a', fence: (FIRST + round) as typeof FIRST };
    const answers = await Promise.all([1, 2, 3, 4].map(() => marks.enter(fenced)));
    const kinds = answers.map(({ kind }) => kind);
    assert.deepEqual(kinds, ['entered', 'entered', 'entered', 'entered'], `round ${round}`);
    for (const answer of answers) if (answer.kind === 'entered') await answer.leave();
  }
});

test('limits of the connection do not end a permit', async (t) => {
  const { pool, open: openPool } = await open(t);
  const { rows } = await pool.query<{ limit: string | null }>(
    "select current_setting('transaction_timeout', true) as limit",
  );
  const hasTransactionLimit = typeof rows[0]?.limit === 'string';
  t.diagnostic(`transaction_timeout exists: ${hasTransactionLimit}`);
  const limits = [IDLE_LIMIT, ...(hasTransactionLimit ? ['-c transaction_timeout=1000'] : [])];
  for (const [index, options] of limits.entries()) {
    const marks = postgresMarks(openPool({ options }), { waitMs: 1 });
    const key = `limit/${index}`;
    const inside = await marks.enter({ key, fence: FIRST });
    assert.ok(inside.kind === 'entered');
    // By the server's own time, so that the limit has passed.
    await pool.query('select pg_sleep($1)', [index === 0 ? 0.05 : 1.2]);
    assert.deepEqual(await marks.enter({ key, fence: SECOND }), { kind: 'busy', resource: key });
    await inside.leave();
  }
});

/** Ends the connections of requests inside, as a failover or an administrator would. */
async function endPermits(pool: pg.Pool): Promise<void> {
  await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'inside' and state = 'idle in transaction'`,
  );
}

test('a request learns that its permit was lost', async (t) => {
  const { pool, open: openPool } = await open(t);
  const marks = postgresMarks(openPool({ application_name: 'inside' }));
  const inside = await marks.enter(early);
  assert.ok(inside.kind === 'entered' && inside.lost !== undefined);
  const lost = once(inside.lost, 'abort');
  await endPermits(pool);
  await lost;
  assert.ok(inside.lost.reason instanceof PermitLost);
  const successor = await marks.enter(late);
  assert.ok(successor.kind === 'entered', 'so the request must learn of it');
  await assert.rejects(inside.leave(), PermitLost);
  await assert.rejects(inside.leave(), PermitLost);
  await successor.leave();
});

test('a request that lost its permit is answered with 500', async (t) => {
  const { pool, open: openPool } = await open(t);
  const marks = postgresMarks(openPool({ application_name: 'inside' }));
  const app = express();
  app.post('/', expressFence({ marks }), async (request, response) => {
    const { lost } = permitOf(request) ?? {};
    assert.ok(lost !== undefined);
    const aborted = once(lost, 'abort');
    await endPermits(pool);
    await aborted;
    response.json({ ok: true });
  });
  const server = await listening(createServer(app));
  t.after(() => server.close());
  const response = await fencedFetch(early)(server.origin, { method: 'POST' });
  assert.equal(response.status, 500);
  assert.equal(((await response.json()) as { code: string }).code, 'permit-lost');
});

test('a handler may check the same resource in its own transaction', async (t) => {
  const { pool } = await open(t);
  const guard = new PostgresGuard();
  const marks = postgresMarks(pool, { waitMs: 50 });
  const client = await pool.connect();
  try {
    const inside = await marks.enter(early);
    assert.ok(inside.kind === 'entered');
    await client.query('begin');
    assert.equal((await guard.check(client, early)).kind, 'current');
    const beside = await marks.enter(early);
    assert.equal(beside.kind, 'entered', 'though that transaction is still open');
    assert.equal((await marks.enter(late)).kind, 'busy');
    assert.equal((await marks.enter(early)).kind, 'stale');
    await client.query('rollback');
    for (const permit of [inside, beside]) if (permit.kind === 'entered') await permit.leave();
  } finally {
    client.release();
  }
});

/** Fires at once, whatever the delay. */
function hurried(_ms: number, callback: () => void): () => void {
  return systemTimers.after(0, callback);
}

test('a pool without a free connection does not outlast patience', async (t) => {
  const { open: openPool } = await open(t);
  const small = openPool({ max: 1 });
  const timers = { ...systemTimers, after: hurried };
  const marks = postgresMarks(small, { timers });
  const inside = await postgresMarks(small).enter(early);
  assert.ok(inside.kind === 'entered');
  await assert.rejects(marks.enter(late), /The pool had no free connection/);
  await inside.leave();
  const after = await postgresMarks(small).enter(late);
  assert.ok(after.kind === 'entered', 'the connection that came too late was given back');
  await after.leave();
});
