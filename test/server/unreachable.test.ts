import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { pipeline } from '../../src/index.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { freePort } from '../services/free-port.ts';

test('where no coordinator answers, client and worker say which address they asked and what to look at', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const told = { code: 'store-unavailable', message: new RegExp(`${url}.*Is it running`) };
  await assert.rejects(new HoldfastClient({ url }).executions.list(), told);
  const idle = pipeline({ name: 'idle', run: () => 1 });
  await assert.rejects(openWorker({ url, pipelines: [idle] }), told);
});

test('a caller that has given up is told so, and nothing else', async () => {
  const client = new HoldfastClient({ url: `http://127.0.0.1:${await freePort()}` });
  await assert.rejects(client.call('/healthz', { signal: AbortSignal.abort() }), {
    name: 'AbortError',
  });
});
