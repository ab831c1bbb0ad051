import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import type { ExecutionStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { clientOf } from './fixture.ts';

test('a worker that finds nothing rests until the bell rings: it does not ask without end', async () => {
  const plain = openMemoryStore();
  let asked = 0;
  const claim: ExecutionStore['claim'] = (request) => {
    asked += 1;
    return plain.executions.claim(request);
  };
  const store = { ...plain, executions: { ...plain.executions, claim } };
  const server = await openServer({ store, auth: 'off', port: 0, tends: false });
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
