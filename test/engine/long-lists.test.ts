// One page of a list checks a bounded number of rows, and goes on from there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mustFinish, mustSubmit, running, worker } from '../../contract/execution/worker.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { LIST_ROWS_MAX } from '../../src/store/contract/execution-reads.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

test('X-22: a page that leaves out 10,000 rows has a cursor, and the next page goes on', async () => {
  const store = openMemoryStore();
  const holdfast = new Holdfast({ store });
  const done = await running(store, await worker(store), { tags: ['red'] });
  await mustFinish(store, done);
  await Promise.all(
    Array.from({ length: LIST_ROWS_MAX }, () => mustSubmit(store, { tags: ['red'] })),
  );
  for (const filter of [{}, { tag: 'red' }, { pipeline: 'orders' }]) {
    const options = { ...filter, status: 'completed', limit: 10 } as const;
    const first = await holdfast.list(options);
    assert.deepEqual(first.items, []);
    assert.ok(first.cursor !== undefined, 'there are older rows');
    const second = await holdfast.list({ ...options, cursor: first.cursor });
    assert.deepEqual(
      second.items.map(({ id }) => id),
      [done.id],
    );
    assert.equal(second.cursor, undefined);
  }
  await holdfast.close();
});
