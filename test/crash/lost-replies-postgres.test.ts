// replies of PostgreSQL and of a coordinator are lost after their commit.

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { openServer } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { postgresForTests } from '../services/postgres.ts';
import { Schemas } from '../services/postgres-schemas.ts';
import { startProxy, through } from '../services/proxy.ts';
import { isFullRun } from '../services/tier.ts';
import { type Ended, Losses, runUntilLost, Witness } from './lost-replies.ts';

const { url, release } = await postgresForTests();
const schemas = new Schemas(url, 'lost');

after(async () => {
  await schemas.end();
  await release();
});

const LOST = isFullRun()
  ? { postgres: 2_000, coordinator: 400 }
  : { postgres: 40, coordinator: 20 };

/** ReadyForQuery outside a transaction: what the reply is about is committed. */
const COMMITTED = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
/** CommandComplete. The hot verbs are `with` statements whose last part selects. */
const COMPLETE = /C\0{3}.(?:SELECT|INSERT|UPDATE|COMMIT)\b/s;

/** True for the reply to a statement. In this load, almost all of them write. */
function isCommitted(message: Buffer): boolean {
  return (
    message.subarray(-COMMITTED.length).equals(COMMITTED) &&
    COMPLETE.test(message.toString('latin1'))
  );
}

async function check(
  t: TestContext,
  {
    store,
    ended,
    witness,
  }: {
    readonly store: CoordinatorStore;
    readonly ended: ReadonlyMap<number, Ended>;
    readonly witness: Witness;
  },
): Promise<void> {
  const holdfast = new Holdfast({ store });
  for (const [nth, { id, output }] of ended) {
    assert.equal((await holdfast.read(id))?.status, 'completed');
    witness.check(nth, output, await holdfast.history(id));
  }
  await holdfast.close();
  witness.finish();
  t.diagnostic(`${ended.size} executions`);
}

test('postgres: X-4, X-103: nothing acknowledged is lost when replies to commits are lost', async (t) => {
  const losses = new Losses();
  const proxy = await startProxy(
    Number(new URL(url).port),
    (message) => isCommitted(message) && losses.take(),
  );
  const schema = await schemas.take();
  const store = await openPostgresStore({ url: through(url, proxy), schema });
  const holdfast = new Holdfast({ store });
  t.after(async () => {
    await holdfast.close();
    await store.close();
    await proxy.close();
    await schemas.giveBack(schema);
  });
  const witness = new Witness();
  await holdfast.worker({ pipelines: [witness.pipeline] });
  const ended = await runUntilLost(LOST.postgres, losses, async (nth) => {
    const handle = await holdfast.submit(witness.pipeline, nth, { key: String(nth) });
    return { id: handle.id, output: await handle.result() };
  });
  assert.ok(losses.lost >= LOST.postgres);
  const direct = await openPostgresStore({ url, schema });
  await check(t, { store: direct, ended, witness });
  await direct.close();
});

test('postgres: X-4, X-103: nothing acknowledged is lost when a coordinator’s replies are lost', async (t) => {
  const losses = new Losses();
  const store = await schemas.store();
  const server = await openServer({ store, port: 0, auth: 'off', admin: 'main' });
  const proxy = await startProxy(
    Number(new URL(server.url).port),
    (message) =>
      // A text frame of replies. Others open connections.
      message[0] === 0x81 && losses.take(),
  );
  const at = { url: through(server.url, proxy) };
  const witness = new Witness();
  const worker = await openWorker({ ...at, pipelines: [witness.pipeline] });
  t.after(async () => {
    await worker.stop();
    await server.close();
    await proxy.close();
    await store.close();
  });
  const client = new HoldfastClient(at);
  const leaks: Error[] = [];
  const onWarning = (warning: Error): void => {
    if (warning.name === 'MaxListenersExceededWarning') leaks.push(warning);
  };
  process.on('warning', onWarning);
  const ended = await runUntilLost(LOST.coordinator, losses, async (nth) => {
    const { id } = await client.executions.submit({
      ...{ pipeline: witness.pipeline.name, input: nth, key: String(nth) },
    });
    const { output } = await client.executions.result(id);
    return { id, output };
  });
  process.off('warning', onWarning);
  assert.deepEqual(leaks, []);
  assert.ok(losses.lost >= LOST.coordinator);
  await check(t, { store, ended, witness });
});
