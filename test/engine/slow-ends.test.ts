// A slot is free when the code has ended, before its end is written. Slow ends must neither delay
// other executions nor pile up without a limit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { door, pause } from './stage.ts';

test('a worker claims nothing more while as many ends as it has slots are being written', async () => {
  const memory = openMemoryStore();
  const { executions } = memory;
  const written = door();
  /** How often the worker has checked for room. */
  let reads = 0;
  const store = {
    ...memory,
    executions: {
      ...executions,
      room() {
        reads += 1;
        return executions.room();
      },
      finish: async (request: Parameters<typeof executions.finish>[0]) => {
        await written.passed;
        return executions.finish(request);
      },
    },
  };
  const holdfast = new Holdfast({ store });
  let atOnce = 0;
  let most = 0;
  let done = 0;
  const quick = pipeline({
    name: 'quick',
    async run(ctx, n: number) {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await ctx.step('s', () => pause(2));
      atOnce -= 1;
      done += 1;
      return n;
    },
  });
  const handles = [];
  for (let n = 0; n < 20; n += 1) handles.push(await holdfast.submit(quick, n));
  const worker = await holdfast.worker({ pipelines: [quick], concurrency: 3, pollMs: 10 });
  while (done < 6) await pause(2);
  for (const enough = reads + 5; reads < enough; ) await pause(2);
  assert.deepEqual([done, worker.running], [6, 6]);
  written.open();
  const results = await Promise.all(handles.map((handle) => handle.result()));
  assert.deepEqual(
    results,
    handles.map((_, n) => n),
  );
  assert.equal(most, 3);
  await holdfast.close();
  await store.close();
});
