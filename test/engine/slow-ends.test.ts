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

test('an end that is refused after the session of its worker is over is reported', async () => {
  const memory = openMemoryStore();
  const { executions, sessions } = memory;
  const [ending, again, written] = [door(), door(), door()];
  let ends = 0;
  const store = {
    ...memory,
    executions: {
      ...executions,
      finish: async (request: Parameters<typeof executions.finish>[0]) => {
        ends += 1;
        (ends === 1 ? ending : again).open();
        await written.passed;
        return executions.finish(request);
      },
    },
  };
  const reports: string[] = [];
  const holdfast = new Holdfast({ store, observer: { report: ({ kind }) => reports.push(kind) } });
  const brief = pipeline({ name: 'brief', run: () => 1 });
  await holdfast.worker({ pipelines: [brief], ttlMs: 1_000, pollMs: 10 });
  const handle = await holdfast.submit(brief, null);
  await ending.passed;
  const by = { kind: 'operator', actor: 'ann', reason: 'frozen' } as const;
  for (const { session } of await sessions.list({ limit: 10 })) {
    await sessions.end({ id: session.id, by });
  }
  // The worker claims it again in its next session.
  await again.passed;
  assert.ok(!reports.includes('lost'), 'whether the first end was written is not known yet');
  written.open();
  assert.equal(await handle.result(), 1);
  await holdfast.close();
  assert.equal(reports.filter((kind) => kind === 'lost').length, 1);
  await store.close();
});
