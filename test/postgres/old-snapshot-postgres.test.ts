// While another transaction holds an old snapshot, PostgreSQL keeps the index entries of all
// executions claimed since.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { Payload } from '../../src/execution/names.ts';
import { openSession, pipeline } from '../../src/index.ts';
import type { Claimed, ExecutionStore } from '../../src/store/contract/execution-store.ts';
import { settingsOf } from '../../src/store/postgres/connect.ts';
import { Database, numbersForBigints, STORE_NOW_SQL } from '../../src/store/postgres/database.ts';
import { CLAIM } from '../../src/store/postgres/executions/claim-statement.ts';
import { openExecutions } from '../../src/store/postgres/executions/open.ts';
import { Hints } from '../../src/store/postgres/hints.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { systemClock } from '../../src/support/clock.ts';
import { systemRandom } from '../../src/support/random.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { postgresForTests } from '../services/postgres.ts';

const WORK = pipeline({ name: 'work', run: () => undefined });

/** More than an old snapshot needs. */
const PASS_BY =
  'do $$ begin for n in 1..120 loop perform pg_current_xact_id(); commit; end loop; end $$';

/** A store, and its executions on a clock that the test moves. */
async function open(t: TestContext) {
  const { url, release } = await postgresForTests();
  const store = await openPostgresStore({ url, schema: 'hf' });
  const pool = new pg.Pool({ connectionString: url, types: numbersForBigints(pg.types) });
  const database = new Database(pool, { schema: 'hf', nowSql: STORE_NOW_SQL, prepare: true });
  const clock = { ...systemClock, nowMs: 0, stepMs: 0 };
  clock.monotonicMs = () => {
    clock.nowMs += clock.stepMs;
    return clock.nowMs;
  };
  const { executions, close } = openExecutions(
    {
      database,
      policy: store.policy,
      hints: new Hints(database, 'wakeups', undefined),
      onBoundary: undefined,
    },
    { timers: systemTimers, random: systemRandom, clock },
  );
  const session = await openSession({ store, owner: 'ann', ttlMs: 3_600_000 });
  const holder = new pg.Client(url);
  // The server ends the remaining connections.
  pool.on('error', () => undefined);
  holder.on('error', () => undefined);
  await holder.connect();
  t.after(async () => {
    await holder.end();
    await session.close();
    await close();
    await pool.end();
    await store.close();
    await release();
  });
  const claim = async (limit: number) => {
    const shares = [{ lane: 'interactive' as const, limit }];
    const answer = await executions.claim({ session: session.id, pipelines: [WORK.name], shares });
    assert(answer.kind === 'claimed');
    return answer;
  };
  const holdSnapshot = async () => {
    await holder.query('begin isolation level repeatable read');
    await holder.query('select 1 from hf.execution limit 1');
    await pool.query(PASS_BY);
  };
  const holdfast = new Holdfast({ store });
  return { store, session, pool, database, executions, clock, claim, holdSnapshot, holdfast };
}

async function finishAll(
  executions: ExecutionStore,
  session: Awaited<ReturnType<typeof openSession>>,
  claims: readonly Claimed[],
): Promise<void> {
  const finishes = claims.map(({ execution: { id, seq }, fence }) =>
    executions.finish({
      ...{ id, fence, session: session.id, seq: seq + 1, status: 'completed' },
      events: [{ kind: 'completed', body: '{}' as Payload }],
    }),
  );
  await Promise.all(finishes);
}

test('X-11, X-62: an execution that becomes ready with an earlier time is found by the next full claim', async (t) => {
  const { holdfast, pool, claim, clock, holdSnapshot } = await open(t);
  const early = await holdfast.submit(WORK, null);
  await holdfast.pause(early.id);
  await pool.query('update hf.execution set ready_at = ready_at - 1000');
  const later = await Promise.all(Array.from({ length: 5 }, () => holdfast.submit(WORK, null)));
  await holdSnapshot();
  clock.stepMs = 30;
  await claim(1); // slow, so the claim looks for a snapshot
  await claim(1); // remembers where it began
  clock.stepMs = 0;
  await holdfast.resume(early.id);
  const rest = await claim(10);
  assert.equal(rest.claims.length, later.length - 2, 'all but the early one');
  const none = await claim(10);
  assert.deepEqual(none.claims, []);
  assert(none.nextReadyInMs !== undefined && none.nextReadyInMs <= 100, 'asked to come again soon');
  clock.nowMs += none.nextReadyInMs;
  const whole = await claim(10);
  assert.deepEqual(
    whole.claims.map(({ execution }) => execution.id),
    [early.id],
  );
});

test('a claim that starts at a known floor reads no more than on a fresh table', async (t) => {
  const { holdfast, session, pool, database, executions, claim, holdSnapshot } = await open(t);
  const submit = async () => {
    await Promise.all(Array.from({ length: 200 }, () => holdfast.submit(WORK, null)));
  };
  const values = [session.id, '{work}', '{0}', '{1}', '{1}', null, null, 0, false];
  const blocksRead = async (known: string | null): Promise<number> => {
    const text = `explain (analyze, buffers, format json) ${database.fill(CLAIM.text)}`;
    const client = await pool.connect();
    await client.query(`begin; ${settingsOf({ url: '', pooler: true })}`);
    const { rows } = await client.query(text, [...values, known, true]);
    await client.query('rollback');
    client.release();
    const plan = rows[0]['QUERY PLAN'][0].Plan;
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  };
  await submit();
  const atFirst = await blocksRead(null);
  await holdSnapshot();
  for (let round = 0; round < 5; round += 1) {
    await submit();
    const { claims } = await claim(200);
    await finishAll(executions, session, claims);
  }
  // The claim's own floor lies a little earlier. How many entries lie between depends on the machine.
  const { rows } = await pool.query(
    `select json_agg(s)::text as floors from (
       select 0 as source, pipeline, lane, project, min(ready_at) as floor
       from hf.execution where ready_at is not null group by pipeline, lane, project) s`,
  );
  const whole = await blocksRead(null);
  const bounded = await blocksRead(rows[0].floors);
  assert(whole > 2 * atFirst, `the whole: ${whole} blocks, at first ${atFirst}`);
  assert(bounded < atFirst / 0.7, `remembering: ${bounded} blocks, at first ${atFirst}`);
});
