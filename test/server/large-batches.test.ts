// A worker sends writes of many executions in one request. Large writes must not make the request larger than
// the coordinator accepts, because it would refuse all of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { clientOf } from './fixture.ts';

const COUNT = 24;
/** Just below the size that is stored as a blob. */
const RESULT_CHARS = 60_000;

interface Ran {
  readonly statuses: ReadonlySet<string>;
  /** Requests with writes that the coordinator refused as too large. */
  readonly refused: number;
}

/** Executions whose steps return large results in the same turn. */
async function runTogether(bodyBytesMax: number): Promise<Ran> {
  const store = openMemoryStore();
  let refused = 0;
  const log = {
    info: (_: string, about: object = {}) => {
      const { route, status } = about as { readonly route?: string; readonly status?: number };
      if (route === '/v1/work/writes' && status === 413) refused += 1;
    },
    fault: () => undefined,
  };
  const server = await openServer({
    ...{ store, auth: 'off', port: 0, maintenance: false, log, logRequests: true },
    limits: { bodyBytesMax },
  });
  const all = Promise.withResolvers<void>();
  let begun = 0;
  const large = pipeline({
    name: 'large',
    run: async (ctx) => {
      const text = await ctx.step('one', async () => {
        begun += 1;
        if (begun === COUNT) all.resolve();
        await all.promise;
        return 'x'.repeat(RESULT_CHARS);
      });
      return text.length;
    },
  });
  const worker = await openWorker({ url: server.url, pipelines: [large], concurrency: COUNT });
  const { executions } = clientOf(server.url);
  const statuses = new Set<string>();
  const submitted = Array.from({ length: COUNT }, () => executions.submit({ pipeline: 'large' }));
  for (const { id } of await Promise.all(submitted)) {
    statuses.add((await executions.result(id)).status);
  }
  await worker.stop();
  await server.close();
  await store.close();
  return { statuses, refused };
}

test('M-7: large writes of many executions are sent in several requests', async () => {
  const { statuses, refused } = await runTogether(1024 * 1024);
  assert.deepEqual([...statuses], ['completed']);
  assert.equal(refused, 0);
});

test('M-7: writes that a coordinator refuses together are sent in smaller requests', async () => {
  const { statuses, refused } = await runTogether(2 * RESULT_CHARS);
  assert.deepEqual([...statuses], ['completed']);
  assert.ok(refused > 0, 'no request was too large');
});
