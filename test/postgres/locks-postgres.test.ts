// Locks that no contract case can miss: a transaction of another client is open while the store acts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { interactionId, mustOpen, statesOf } from '../../contract/execution/awaits/awaiting.ts';
import {
  childOf,
  nextId,
  PROJECT,
  payload,
  running,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import { REFUSED_WRITES_MAX, type RefusedWrites } from '../../src/features/audit/model.ts';
import { toFence } from '../../src/lease/fence.ts';
import { openSession } from '../../src/lease/live-session.ts';
import type { Owner, SessionId } from '../../src/lease/names.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { until } from '../processes/stage/until.ts';
import { postgresForTests } from '../services/postgres.ts';

type Store = Awaited<ReturnType<typeof openPostgresStore>>;

let database: Awaited<ReturnType<typeof postgresForTests>> | undefined;
let store: Store;
let other: pg.Client;

before(async () => {
  database = await postgresForTests();
  store = await openPostgresStore({ url: database.url, schema: 'locks' });
  other = new pg.Client(database.url);
  await other.connect();
});

after(async () => {
  await other.end();
  await store.close();
  await database?.release();
});

async function isWaiting(): Promise<boolean> {
  const { rows } = await other.query(
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
  return rows.length > 0;
}

test('T-4: a process that adopts a moved server while another does so raises no second epoch', async (t) => {
  const session = await openSession({ store, owner: 'ann' });
  t.after(() => session.close());
  const fence = async (): Promise<number> => {
    const got = await session.acquire('invoice/1');
    assert.ok(got.kind === 'acquired');
    await got.lease.release('finished');
    return got.lease.fence;
  };
  const first = await fence();
  await other.query("update locks.meta set started_at = 'epoch', timeline = timeline - 1");
  await other.query('begin');
  await other.query(
    'update locks.meta set started_at = pg_postmaster_start_time(), timeline = timeline + 1',
  );
  const next = fence();
  await until('the store waits for the other process', isWaiting);
  await other.query('commit');
  assert.ok((await next) < first + 2 ** 39, 'the same epoch');
});

test('J-12: a process deletes old counts without waiting for one that another process changes', async () => {
  const refused: RefusedWrites = {
    ...{ execution: nextId(), fence: toFence(2 ** 40 + 7), verb: 'record', project: PROJECT },
    ...{ why: 'superseded', count: 1, firstAgoMs: 0, lastAgoMs: 0 },
    ...{ session: nextId() as string as SessionId, owner: 'worker-1' as Owner },
    transport: 'http',
  };
  await store.executions.noteRefusals([refused]);
  await other.query(
    `insert into locks.refused_write
     select execution_id, fence + nth, newest, first_at - nth, last_at - nth, count, verb, project, why,
            session_id, owner, lost_at, transport
       from locks.refused_write, generate_series(1, $1) as nth`,
    [REFUSED_WRITES_MAX],
  );
  const counts = async (): Promise<number> => {
    const { rows } = await other.query('select count(*)::int as n from locks.refused_write');
    return (rows as { n: number }[])[0]?.n ?? 0;
  };
  await other.query('begin');
  await other.query(
    'update locks.refused_write set count = 2 where last_at = (select min(last_at) from locks.refused_write)',
  );
  await store.executions.noteRefusals([{ ...refused, execution: nextId() }]);
  await other.query('commit');
  assert.equal(await counts(), REFUSED_WRITES_MAX + 1);
  await store.executions.noteRefusals([refused]);
  assert.equal(await counts(), REFUSED_WRITES_MAX);
});

test('Z-14: slots are counted after a transaction that gives one back, not beside it', async () => {
  const ann = await worker(store);
  const concurrency = { key: 'bank', limit: 2 };
  const held = await running(store, ann, { concurrency });
  await running(store, ann, { concurrency });
  await other.query("update locks.place set taken = 3 where key = 'bank'");
  await other.query('begin');
  await other.query("update locks.place set taken = taken - 1 where key = 'bank'");
  await other.query('update locks.execution set has_place = false where id = $1', [held.id]);
  const repaired = store.executions.reconcile({ part: 'slots', limit: 100 });
  await until('the store waits for the other transaction', isWaiting);
  await other.query('commit');
  await repaired;
  const { rows } = await other.query("select taken from locks.place where key = 'bank'");
  assert.deepEqual(rows, [{ taken: 1 }]);
});

test('W-18: a question that another transaction locks keeps no other question from its slot', async () => {
  const ann = await worker(store);
  const concurrency = { key: 'bank', limit: 1 };
  const [first, second, third] = [
    await mustOpen(store, await running(store, ann), { concurrency }),
    await mustOpen(store, await running(store, ann), { concurrency }),
    await mustOpen(store, await running(store, ann), { concurrency }),
  ];
  await other.query('begin');
  await other.query('select from locks.interaction where execution_id = $1 for update', [
    second.id,
  ]);
  const answer = { project: PROJECT, value: payload('yes'), digest: 'yes', verified: false };
  await store.executions.answer({ ...answer, id: interactionId(first.id) });
  assert.deepEqual(await statesOf(store, third.id), ['open', 'open']);
  await other.query('commit');
});

test('W-18: a change of a queued question does not take back the slot that it gets meanwhile', async () => {
  const ann = await worker(store);
  const concurrency = { key: 'clerk', limit: 1 };
  const first = await mustOpen(store, await running(store, ann), { concurrency });
  const { id: execution } = await mustOpen(store, await running(store, ann), { concurrency });
  const third = await mustOpen(store, await running(store, ann), { concurrency });
  await other.query('begin');
  // As the answer to the first question does, which locks neither the unit nor the execution.
  await other.query('update locks.interaction set status = 11 where execution_id = $1', [first.id]);
  await other.query(
    'update locks.interaction set status = 0, since = since + 60000 where execution_id = $1',
    [execution],
  );
  const assigned = store.executions.assignAwait({
    ...{ project: PROJECT, id: interactionId(execution), assignee: 'olga' },
  });
  await until('the store waits for the other transaction', isWaiting);
  await other.query('commit');
  assert.equal((await assigned).kind, 'done');
  assert.deepEqual(await statesOf(store, execution), ['open', 'open']);
  assert.deepEqual(await statesOf(store, third.id), ['open', 'queued']);
});

test('X-125: an owner that is being replaced waits, and sends its child nothing', async () => {
  const ann = await worker(store);
  const parent = await running(store, ann);
  const child = childOf(parent.id, 'child:pack#1');
  const spawned = { ...writing(parent, { kind: 'child-spawned' }), children: [child] };
  await store.executions.record(spawned);
  const { id, fence, session } = parent;
  const message = { kind: 'signal', name: 'paid', key: 'a', out: payload({ v: 1 }) } as const;
  await other.query('begin');
  await other.query('update locks.execution set fence = fence + 1 where id = $1', [id]);
  const sent = store.executions.messageChild({
    ...{ id, fence, session, project: PROJECT, child: child.id, message },
  });
  await until('the store waits for the takeover', isWaiting);
  await other.query('commit');
  const result = await sent;
  assert.equal(result.kind === 'refused' && result.why, 'claim-ended');
  assert.deepEqual(await store.executions.inbox({ id: child.id, after: 0, limit: 1 }), []);
});
