// A claim that the server has done, and whose answer was lost with the connection.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  claiming,
  claimOnce,
  heldOf,
  mustFinish,
  mustRead,
  mustSubmit,
  worker,
} from '../../contract/execution/worker.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { Fault, OutcomeUnknown } from '../../src/support/fault.ts';
import { postgresForTests } from '../services/postgres.ts';
import { startProxy, through } from '../services/proxy.ts';

test('X-25: executions claimed over a connection that broke are returned to their session’s next claim', {}, async (t) => {
  const { url, release } = await postgresForTests();
  const proxy = await startProxy(Number(new URL(url).port));
  const direct = await openPostgresStore({ url });
  const store = await openPostgresStore({ url: through(url, proxy) });
  t.after(async () => {
    await store.close();
    await direct.close();
    await proxy.close();
    await release();
  });
  const ann = await worker(store);
  const known = await mustSubmit(direct);
  const before = await claimOnce(store, claiming(ann));
  assert.deepEqual(
    before.claims.map(({ execution }) => execution.id),
    [known],
  );
  const id = await mustSubmit(direct);
  proxy.mute();
  const lost = assert.rejects(store.executions.claim(claiming(ann)), OutcomeUnknown);
  while ((await mustRead(direct, id)).status !== 'running') {
    // The server does it without waiting for us.
  }
  proxy.cut();
  await lost;
  await assert.rejects(store.executions.claim(claiming(ann)), Fault);
  proxy.restore();
  const { claims } = await claimOnce(store, claiming(ann));
  assert.deepEqual(
    claims.map(({ execution, previous }) => [execution.id, previous]),
    [[id, 'none']],
  );
  assert.deepEqual((await claimOnce(store, claiming(ann))).claims, []);
  for (const claimed of [...before.claims, ...claims]) {
    await mustFinish(store, heldOf(claimed, ann));
  }
});
