import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import type { ExecutionStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { until } from './coordinator.ts';
import { clientOf } from './fixture.ts';

test('a worker without work waits for a wakeup and does not poll without end', async () => {
  const plain = openMemoryStore();
  let asked = 0;
  const claim: ExecutionStore['claim'] = (request) => {
    asked += 1;
    return plain.executions.claim(request);
  };
  const store = { ...plain, executions: { ...plain.executions, claim } };
  const server = await openServer({ store, auth: 'off', port: 0, maintenance: false });
  const idle = pipeline({ name: 'idle', run: async (ctx) => ctx.step('one', () => 1) });
  const worker = await openWorker({ url: server.url, pipelines: [idle], pollMs: 60_000 });
  const { executions } = clientOf(server.url);
  // It has nothing to do until then, and knows it.
  const { id } = await executions.submit({ pipeline: 'idle', delayMs: 1_000 });
  assert.equal((await executions.result(id)).status, 'completed');
  assert.ok(asked <= 20, `${asked} claims for one execution`);
  await worker.stop();
  await server.close();
  await store.close();
});

test('long polls without messages are logged only on request', async () => {
  for (const logIdle of [false, true]) {
    const routes: string[] = [];
    const log = {
      info: (message: string, about: object = {}) => {
        if (message === 'request') routes.push((about as { readonly route: string }).route);
      },
      fault: () => undefined,
    };
    const store = openMemoryStore();
    const logging = { log, logRequests: true, logIdle };
    const server = await openServer({
      store,
      auth: 'off',
      port: 0,
      maintenance: false,
      ...logging,
    });
    await fetch(`${server.url}/v1/work/wakeup?waitMs=1`);
    await fetch(`${server.url}/v1/caller`);
    await server.close();
    await store.close();
    assert.deepEqual(routes, [...(logIdle ? ['/v1/work/wakeup'] : []), '/v1/caller']);
  }
});

test('a submit warns about a pipeline that no worker has announced', async (t) => {
  const emitted = t.mock.method(process, 'emitWarning', () => undefined);
  const store = openMemoryStore();
  const server = await openServer({ store, auth: 'off', port: 0, maintenance: false });
  const order = pipeline({ name: 'order', run: () => 1 });
  const worker = await openWorker({ url: server.url, pipelines: [order] });
  const { executions } = clientOf(server.url);
  await until(async () => {
    const [announced] = await store.executions.workers({ limit: 1 });
    return announced?.pipelines.includes(order.name) === true ? true : undefined;
  });
  assert.equal((await executions.submit({ pipeline: 'order' })).warning, undefined);
  const slips = [
    await executions.submit({ pipeline: 'ordr' }),
    await executions.submit({ pipeline: 'ordr' }),
  ];
  for (const { warning } of slips) {
    assert.equal(warning?.code, 'pipeline-unknown');
    assert.match(warning?.detail ?? '', /"ordr"\. Did you mean "order"\?/);
  }
  assert.equal(emitted.mock.callCount(), 1);
  await worker.stop();
  await server.close();
  await store.close();
});
