// One request for an explanation reads a bounded number of children.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  mustPark,
  mustSubmit,
  OTHER_PIPELINE,
  payload,
  running,
  worker,
} from '../../contract/execution/worker.ts';
import { faultyStore } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { CallKey } from '../../src/execution/names.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

test('explain: the first 1,000 children of an execution are read', async () => {
  const memory = openMemoryStore();
  const { store, calls } = faultyStore<CoordinatorStore>(memory);
  const holdfast = new Holdfast({ store });
  const parent = await running(memory, await worker(memory));
  await Promise.all(
    Array.from({ length: 1_001 }, (_, nth) =>
      mustSubmit(memory, {
        pipeline: OTHER_PIPELINE,
        parent: { id: parent.id, call: `child:c#${nth}` as CallKey },
      }),
    ),
  );
  await mustPark(memory, parent, {
    wakeAfter: 1,
    events: [{ kind: 'parked', body: payload({ for: ['result:child:c#1'] }) }],
  });
  const explained = await holdfast.explain(parent.id);
  assert.equal(explained?.code, 'waiting-for-children');
  assert.match(explained?.sentence ?? '', /^Waiting for at least 1000 children to end/);
  assert.equal(calls.get('executions.children'), 1);
  await holdfast.close();
});
