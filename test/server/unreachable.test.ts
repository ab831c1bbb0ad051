import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { type ExecutionReport, pipeline } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { holdfast } from '../cli/spawned.ts';
import { freePort } from '../services/free-port.ts';
import { TestCoordinator } from './coordinator.ts';

const idle = pipeline({ name: 'idle', run: () => 1 });

test('without a coordinator, client and worker name the address and the fix', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const expected = { code: 'store-unavailable', message: new RegExp(`${url}.*Check that it runs`) };
  await assert.rejects(new HoldfastClient({ url }).executions.list(), expected);
  await assert.rejects(openWorker({ url, pipelines: [idle], connectMs: 0 }), expected);
});

test('a caller that has aborted gets AbortError', async () => {
  const client = new HoldfastClient({ url: `http://127.0.0.1:${await freePort()}` });
  await assert.rejects(client.call('/healthz', { signal: AbortSignal.abort() }), {
    name: 'AbortError',
  });
});

test('a worker that starts before its coordinator waits for it, and warns', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const warned = once(process, 'warning');
  const troubles: string[] = [];
  const observer = {
    report(report: ExecutionReport): void {
      if (report.kind === 'trouble') troubles.push(report.what);
    },
  };
  const opening = openWorker({ url, pipelines: [idle], observer });
  const [warning] = (await warned) as [Error];
  assert.match(warning.message, new RegExp(`does not respond yet.*${url}`));
  assert.equal(troubles.length, 1);
  await using store = withDispose(openMemoryStore());
  await using _server = await openServer({ store: store.store, port, auth: 'off' });
  const worker = await opening;
  const client = new HoldfastClient({ url });
  const { id } = await client.executions.submit({ pipeline: 'idle' });
  assert.equal((await client.executions.result(id)).output, 1);
  await worker.stop();
  assert.deepEqual(await worker.ended, { kind: 'stopped' });
});

test('a worker whose key has ended reports it at once, and ends if it lasts', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const reports: ExecutionReport[] = [];
  const observer = { report: (report: ExecutionReport): unknown => reports.push(report) };
  const key = await coordinator.key(['work'], 'default');
  const worker = await openWorker({
    ...{ url: coordinator.url, key, pipelines: [idle], observer, ttlMs: 300, pollMs: 20 },
  });
  const warned = once(process, 'warning');
  await coordinator.store.access.revokeKey({ id: key.slice(3, 19) });
  const [warning] = (await warned) as [Error];
  assert.match(warning.message, /rejects the access key of this worker: .*\[key-required\]/);
  assert.equal(warning.message.includes(key.slice(-20)), false, 'nothing of the secret is in it');
  const end = await worker.ended;
  assert.deepEqual([end.kind, end.kind === 'denied' && end.code], ['denied', 'key-required']);
  assert.equal(reports.filter(({ kind }) => kind === 'denied').length, 1, 'reported once');
  await worker.stop();
});

test('a key that no header can carry is refused with that reason, and not shown', async () => {
  const key = 'hf_abcdefghijklmnop_…';
  const expected = (error: Error): boolean => {
    assert.match(error.message, /key has a space or another character that is not allowed in it/);
    assert.doesNotMatch(error.message, /hf_/);
    return true;
  };
  assert.throws(() => new HoldfastClient({ url: 'http://127.0.0.1:9', key }), expected);
  await assert.rejects(openWorker({ url: 'http://127.0.0.1:9', key, pipelines: [idle] }), expected);
  const ran = await holdfast(['list'], { env: { HOLDFAST_KEY: key } });
  assert.deepEqual([ran.code, /ByteString/.test(ran.problems)], [2, false]);
});

function withDispose(store: ReturnType<typeof openMemoryStore>) {
  return { store, [Symbol.asyncDispose]: () => store.close() };
}
