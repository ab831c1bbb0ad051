// X-103 on PostgreSQL: a claim that joins the transaction of a submit, and the faults of both.

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import pg from 'pg';
import {
  claiming,
  claimOnce,
  LONG,
  mustRead,
  mustSubmit,
  submitting,
  worker,
} from '../../contract/execution/worker.ts';
import type { Claim, CoordinatorStore, Submit } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { InvalidInput, OutcomeUnknown } from '../../src/support/fault.ts';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { startProxy, through } from '../services/proxy.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'behind');

after(async () => {
  await schemas.end();
  await release();
});

/** A store that counts its transactions. */
async function counted(t: TestContext) {
  let transactions = 0;
  const store = await schemas.store({
    onBoundary: (phase) => {
      if (phase === 'before') transactions += 1;
    },
  });
  t.after(() => store.close());
  return { store, transactions: () => transactions };
}

/** Calls both in one turn, as an engine does. */
function both(store: CoordinatorStore, submit: Submit, claim: Claim) {
  const submitted = store.executions.submit(submit);
  const claimed = store.executions.claim(claim);
  return { submitted, claimed };
}

async function idsOf(claimed: ReturnType<CoordinatorStore['executions']['claim']>) {
  const result = await claimed;
  assert.ok(result.kind === 'claimed');
  return result.claims.map(({ execution }) => execution.id);
}

test('X-103: a claim behind a submit takes it, in one transaction', async (t) => {
  const { store, transactions } = await counted(t);
  const ann = await worker(store, 'ann', LONG);
  await claimOnce(store, claiming(ann));
  const before = transactions();
  const submit = submitting();
  const { submitted, claimed } = both(store, submit, claiming(ann));
  assert.equal((await submitted).kind, 'submitted');
  assert.deepEqual(await idsOf(claimed), [submit.id]);
  assert.equal(transactions() - before, 1);
});

test('X-103: it overtakes nothing, and leaves what has no room', async (t) => {
  const { store } = await counted(t);
  const ann = await worker(store, 'ann', LONG);
  const first = await mustSubmit(store);
  const one = claiming(ann, 1);
  const submit = submitting();
  const { submitted, claimed } = both(store, submit, one);
  assert.deepEqual(await idsOf(claimed), [first]);
  assert.equal((await submitted).kind, 'submitted');
  assert.equal((await mustRead(store, submit.id)).status, 'queued');
  assert.deepEqual(await idsOf(store.executions.claim(one)), [submit.id]);
});

test('X-103: limits hold for an execution that a claim behind its submit takes', async (t) => {
  const { store } = await counted(t);
  const ann = await worker(store, 'ann', LONG);
  const limits = [
    { concurrency: { key: 'one', limit: 1 } },
    { rate: { key: 'one', limit: 1, perMs: 3_600_000 } },
  ];
  for (const limit of limits) {
    const submits = [submitting(limit), submitting(limit)];
    const claims: string[] = [];
    for (const submit of submits) {
      const { submitted, claimed } = both(store, submit, claiming(ann));
      assert.equal((await submitted).kind, 'submitted');
      claims.push(
        ...(await idsOf(claimed)),
        ...(await idsOf(store.executions.claim(claiming(ann)))),
      );
    }
    assert.deepEqual(claims, [submits[0]?.id]);
  }
});

test('X-103: a session that has ended claims nothing, and the submit succeeds', async (t) => {
  const { store } = await counted(t);
  const ann = await worker(store, 'ann', LONG);
  await store.sessions.end({ id: ann.id, by: { kind: 'operator', actor: 'boss', reason: 'test' } });
  const submit = submitting();
  const { submitted, claimed } = both(store, submit, claiming(ann));
  assert.equal((await claimed).kind, 'refused');
  assert.equal((await submitted).kind, 'submitted');
  assert.equal((await mustRead(store, submit.id)).status, 'queued');
});

test('X-103: a submit that the server rejects does not fail the claim', async (t) => {
  const { store } = await counted(t);
  const ann = await worker(store, 'ann', LONG);
  const ready = await mustSubmit(store);
  const { submitted, claimed } = both(store, submitting({ key: 'a\0b' }), claiming(ann));
  const [refused, taken] = await Promise.allSettled([submitted, idsOf(claimed)]);
  assert.ok(refused.status === 'rejected' && refused.reason instanceof InvalidInput);
  assert.deepEqual(taken, { status: 'fulfilled', value: [ready] });
});

test('X-103: a submit that loses the race for its key does not fail the claim', async (t) => {
  const schema = 'behind_race';
  const raced = await openPostgresStore({ url, schema });
  const rival = new pg.Client({ connectionString: url });
  await rival.connect();
  t.after(async () => {
    await rival.end();
    await raced.close();
  });
  const ann = await worker(raced, 'ann', LONG);
  const winner = await mustSubmit(raced, { key: 'the key' });
  const late = submitting({ key: 'another key' });
  await rival.query('begin');
  // The rival takes the key, and commits once the joined transaction waits for it.
  await rival.query(`update "${schema}".execution set key = $1 where id = $2`, [late.key, winner]);
  const { submitted, claimed } = both(raced, late, claiming(ann));
  const waits = `select count(*)::integer as n from pg_locks where not granted and locktype = 'transactionid'`;
  while ((await rival.query<{ n: number }>(waits)).rows[0]?.n === 0) {
    // The joined transaction is on its way.
  }
  await rival.query('commit');
  const result = await submitted;
  assert.ok(result.kind === 'refused' || (result.kind === 'submitted' && result.id === winner));
  assert.deepEqual(await idsOf(claimed), [winner]);
});

test('X-25, X-103: after a lost answer, the submit is repeated and the session gets its claim', async (t) => {
  const proxy = await startProxy(Number(new URL(url).port));
  const schema = 'behind_lost';
  const direct = await openPostgresStore({ url, schema });
  const store = await openPostgresStore({ url: through(url, proxy), schema });
  t.after(async () => {
    await store.close();
    await direct.close();
    await proxy.close();
  });
  const ann = await worker(store, 'ann', LONG);
  await claimOnce(store, claiming(ann));
  const submit = submitting();
  proxy.mute();
  const { submitted, claimed } = both(store, submit, claiming(ann));
  const lost = assert.rejects(claimed, OutcomeUnknown);
  while ((await direct.executions.read(submit.id))?.status !== 'running') {
    // The server does it without waiting for us.
  }
  proxy.cut();
  await lost;
  proxy.restore();
  assert.deepEqual(await submitted, { kind: 'submitted', id: submit.id, existing: true });
  assert.deepEqual(await idsOf(store.executions.claim(claiming(ann))), [submit.id]);
});

test('X-103: the plain path and the joined path leave the same rows', async (t) => {
  const { store } = await counted(t);
  const ann = await worker(store, 'ann', LONG);
  await claimOnce(store, claiming(ann));
  const joined = submitting({ tags: ['a'], attributes: { n: 1 } });
  const { submitted, claimed } = both(store, joined, claiming(ann));
  await submitted;
  await claimed;
  const plain = await mustSubmit(store, { tags: ['a'], attributes: { n: 1 } });
  await claimOnce(store, claiming(ann));
  const shape = async (id: typeof plain) => {
    const { status, seq, tags, attributes, session } = await mustRead(store, id);
    const events = await store.executions.history({ id, after: 0, limit: 10 });
    const about = { status, seq, tags, attributes, session };
    return { about, events: events.map(({ kind, seq, body }) => ({ kind, seq, body })) };
  };
  assert.deepEqual(await shape(joined.id), await shape(plain));
});
