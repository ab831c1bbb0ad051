// A bulk re-drive continues past an execution whose history is too large.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { ExecutionId, Payload } from '../../src/execution/names.ts';
import type { ExecutionStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const LARGE = 'x'.repeat(32 * 1024 * 1024) as Payload;

test('Y-23: a history that is too large is the outcome of its item, and the job completes', async () => {
  const memory = openMemoryStore();
  let large: ExecutionId | undefined;
  const executions: ExecutionStore = {
    ...memory.executions,
    histories: async () => [],
    history: async (query) => {
      const events = await memory.executions.history(query);
      return query.id === large ? events.map((event) => ({ ...event, body: LARGE })) : events;
    },
  };
  const failing = pipeline({
    name: 'failing',
    run: (ctx) => ctx.step('go', () => Promise.reject(new Error('down')), { retry: ONCE }),
  });
  const holdfast = new Holdfast({ store: { ...memory, executions } });
  await holdfast.worker({ pipelines: [failing] });
  const handle = await holdfast.submit(failing, undefined);
  await assert.rejects(handle.result());
  large = handle.id;
  const job = await holdfast.bulk.redrive({ filter: { pipeline: 'failing' } });
  assert.deepEqual(await job.result(), { seen: 1, outcomes: { 'redrive-impossible': 1 } });
  const [item] = await holdfast.bulk.items(job.id);
  assert.deepEqual([item?.target, item?.outcome], [large, 'redrive-impossible']);
  await holdfast.close();
});

const ONCE = { attempts: 1 };
