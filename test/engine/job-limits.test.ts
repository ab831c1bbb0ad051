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

test('P-18: the items and lists of a bulk re-drive take shares of their project', async () => {
  await using holdfast = new Holdfast({
    store: openMemoryStore(),
    observer: { report: () => undefined },
  });
  const worker = await holdfast.worker({ pipelines: [failing] });
  for (let nth = 0; nth < ITEMS; nth += 1) {
    const handle = await holdfast.submit(failing, undefined, { project: 'shop' });
    await assert.rejects(handle.result());
  }
  await worker.stop();
  const turns = new Turns(1);
  const begun: string[] = [];
  let pages = 0;
  await holdfast.maintain({
    jobLimits: {
      lanes: 2,
      page: (project, work) => {
        pages += 1;
        return turns.take(project, work);
      },
      begin: async (project, weight) => void begun.push(`${project} ${weight}`),
    },
  });
  const job = await holdfast.bulk.redrive({ filter: { project: 'shop' } });
  assert.deepEqual(await job.result(), { seen: ITEMS, outcomes: { submitted: ITEMS } });
  const [list, histories, ...rest] = begun;
  const items = Array.from({ length: ITEMS }, () => 'shop 1');
  assert.deepEqual([list, ...rest], [LIST, ...items, LIST], 'the last one counts the items');
  assert.match(histories ?? '', /^shop /, 'their weight depends on their length');
  assert.equal(pages, 2);
});
