// More items than arguments fit a call: nothing that grows with an execution may be spread into
// one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { pause } from './stage.ts';

const MANY = 150_000;

test('an execution that sleeps in many places at once is parked', { timeout: 60_000 }, async () => {
  const store = openMemoryStore();
  const holdfast = new Holdfast({ store });
  const sleepy = pipeline({
    name: 'sleepy',
    run: (ctx) => Promise.all(Array.from({ length: MANY }, () => ctx.sleep(86_400_000))),
  });
  try {
    await holdfast.worker({ pipelines: [sleepy], pollMs: 20 });
    const { id } = await holdfast.submit(sleepy, undefined);
    let record = await holdfast.read(id);
    while (record?.status !== 'waiting' && record?.holds.length === 0) {
      await pause(5);
      record = await holdfast.read(id);
    }
    assert.deepEqual([record?.status, record?.holds], ['waiting', []]);
    const [last] = await holdfast.history(id, { after: MANY + 2 });
    assert.equal(last?.kind, 'parked');
  } finally {
    await holdfast.close();
    await store.close();
  }
});
