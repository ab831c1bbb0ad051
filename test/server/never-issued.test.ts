import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { plant } from './fixture.ts';

test('a worker that makes up a fence is refused, and halts nothing', async () => {
  const store = openMemoryStore();
  const [id] = (await plant(store)).known;
  const server = await openServer({ store, auth: 'off', port: 0, maintenance: false });
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  const session = '01a1e0b1-0fc4-7000-a0ef-84520bba27a8';
  const opening = { id: session, owner: 'mallory', ttlMs: 60_000, graceMs: 1_000 };
  await post('/v1/work/sessions', opening);
  const write = { verb: 'record', id, fence: 2 ** 52, session, seq: 9, events: [] };
  const { results } = (await post('/v1/work/writes', { writes: [write] })) as {
    readonly results: readonly unknown[];
  };
  assert.deepEqual(results, [{ kind: 'refused', why: 'fence-ahead', id, fence: 2 ** 52 }]);
  const claim = { session, pipelines: ['any'], shares: [{ lane: 'batch', limit: 1 }] };
  const { kind } = (await post('/v1/work/claims', claim)) as { readonly kind: string };
  assert.equal(kind, 'claimed');
  await server.close();
  await store.close();
});
