// A process can limit its bulk jobs: each list and each item waits until its project may begin it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { Turns } from '../../src/support/turns.ts';

const ITEMS = 5;
const LIST = 'shop 4';
const ONCE = { attempts: 1 };

const failing = pipeline({
  name: 'failing',
  run: (ctx) => ctx.step('go', () => Promise.reject(new Error('down')), { retry: ONCE }),
});

test('P-18: executions that are archived take shares of their project, by their size', async () => {
  const begun: string[] = [];
  const sizes = pipeline<number, void>({
    name: 'sizes',
    async run(ctx, steps) {
      for (let nth = 0; nth < steps; nth += 1) await ctx.step('make', () => 'x'.repeat(1_024));
    },
  });
  await using holdfast = new Holdfast({
    store: openMemoryStore(),
    retention: {
      keepMs: { completed: 0 },
      archive: { name: 'nowhere', put: () => Promise.resolve(), get: async () => undefined },
    },
    jobLimits: {
      lanes: 2,
      page: (_, work) => work(),
      begin: async (project, weight) => void begun.push(`${project} ${weight}`),
    },
  });
  const worker = await holdfast.worker({ pipelines: [sizes] });
  for (const steps of [1, 128]) {
    begun.length = 0;
    await (await holdfast.submit(sizes, steps, { project: 'shop' })).result();
    assert.equal((await holdfast.archive.run({ project: 'shop' })).removed, 1);
    assert.match(begun.join(), steps === 1 ? /^shop 8,shop 0$/ : /^shop 8,shop 1[3-9]\d$/);
  }
  await worker.stop();
});

test('P-18: the items and lists of a bulk re-drive take shares of their project', async () => {
  const turns = new Turns(1);
  const begun: string[] = [];
  let pages = 0;
  await using holdfast = new Holdfast({
    store: openMemoryStore(),
    observer: { report: () => undefined },
    jobLimits: {
      lanes: 2,
      page: (project, work) => {
        pages += 1;
        return turns.take(project, work);
      },
      begin: async (project, weight) => void begun.push(`${project} ${weight}`),
    },
  });
  const worker = await holdfast.worker({ pipelines: [failing] });
  for (let nth = 0; nth < ITEMS; nth += 1) {
    const handle = await holdfast.submit(failing, undefined, { project: 'shop' });
    await assert.rejects(handle.result());
  }
  await worker.stop();
  await holdfast.maintain();
  const job = await holdfast.bulk.redrive({ filter: { project: 'shop' } });
  assert.deepEqual(await job.result(), { seen: ITEMS, outcomes: { submitted: ITEMS } });
  const [list, histories, ...rest] = begun;
  const items = Array.from({ length: ITEMS }, () => 'shop 1');
  assert.deepEqual([list, ...rest], [LIST, ...items, LIST], 'the last one counts the items');
  assert.match(histories ?? '', /^shop /, 'their weight depends on their length');
  assert.equal(pages, 2);
});
