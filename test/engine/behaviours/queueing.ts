import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, pause } from '../stage.ts';

export const QUEUEING: readonly Behaviour[] = [
  {
    name: 'a submit with the same key and intent returns the same execution, another intent is refused',
    async run(stage) {
      const keyed = pipeline<{ readonly n: number }, number>({
        name: 'keyed',
        run: (_ctx, { n }) => n,
      });
      const holdfast = stage.holdfast();
      const first = await holdfast.submit(keyed, { n: 1 }, { key: 'order-1', tags: ['a'] });
      // The order of properties does not matter.
      const again = await holdfast.submit(keyed, { n: 1 }, { tags: ['a'], key: 'order-1' });
      assert.deepEqual([first.existing, again.existing, again.id], [false, true, first.id]);
      await assert.rejects(holdfast.submit(keyed, { n: 2 }, { key: 'order-1', tags: ['a'] }), {
        name: 'SubmitRefused',
      });
      await assert.rejects(holdfast.submit(keyed, { n: 1 }, { key: 'order-1' }), {
        name: 'SubmitRefused',
      });
      const elsewhere = await holdfast.submit(keyed, { n: 2 }, { key: 'order-1', project: 'p2' });
      assert.equal(elsewhere.existing, false);
      // At the same moment, from many callers: one execution.
      const many = await Promise.all(
        Array.from({ length: 50 }, () => holdfast.submit(keyed, { n: 3 }, { key: 'storm' })),
      );
      assert.equal(new Set(many.map(({ id }) => id)).size, 1);
      assert.equal(many.filter(({ existing }) => !existing).length, 1);
    },
  },
  {
    name: 'a concurrency key limits how many of its executions run at once, in their order',
    async run(stage) {
      const order: number[] = [];
      let running = 0;
      let most = 0;
      const serial = pipeline({
        name: 'serial',
        run: (ctx, n: number) =>
          ctx.step('work', async () => {
            running += 1;
            most = Math.max(most, running);
            order.push(n);
            await new Promise((resolve) => setTimeout(resolve, 5));
            running -= 1;
          }),
      });
      const holdfast = stage.holdfast();
      const handles = [];
      for (let n = 0; n < 6; n += 1) {
        handles.push(
          await holdfast.submit(serial, n, { concurrency: { key: 'customer-7', limit: 1 } }),
        );
      }
      await stage.worker(holdfast, [serial]);
      await Promise.all(handles.map((handle) => handle.result()));
      assert.equal(most, 1);
      assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
    },
  },
  {
    name: 'a delayed execution does not start before its time',
    async run(stage) {
      const delayed = pipeline({ name: 'delayed', run: () => 'started' });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [delayed]);
      const handle = await holdfast.submit(delayed, undefined, { delayMs: 120 });
      assert.equal(await handle.result(), 'started');
      const record = await holdfast.read(handle.id);
      const [, claimed] = await holdfast.history(handle.id);
      assert.ok((claimed?.at ?? 0) - (record?.submittedAt ?? 0) >= 120);
    },
  },
  {
    name: 'lists filter by status, pipeline, tag and attribute, page by page',
    async run(stage) {
      const done = pipeline({ name: 'done', run: () => 1 });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [done]);
      const tagged = [];
      for (let n = 0; n < 5; n += 1) {
        const options = { tags: ['vip'], attributes: { amount: n * 10, city: 'Bern', tilt: -0 } };
        tagged.push(await holdfast.submit(done, undefined, options));
      }
      await Promise.all(tagged.map((handle) => handle.result()));
      await holdfast.submit('other', undefined);
      assert.equal((await holdfast.list()).items.length, 6);
      assert.equal((await holdfast.list({ status: 'completed' })).items.length, 5);
      assert.equal((await holdfast.list({ status: ['queued', 'failed'] })).items.length, 1);
      assert.equal((await holdfast.list({ pipeline: 'other' })).items.length, 1);
      const { items: sameSign } = await holdfast.list({ attribute: { name: 'tilt', equals: 0 } });
      assert.deepEqual(
        sameSign.map(({ attributes }) => attributes['tilt']),
        [0, 0, 0, 0, 0],
      );
      assert.equal((await holdfast.list({ tag: 'vip' })).items.length, 5);
      assert.equal(
        (await holdfast.list({ attribute: { name: 'amount', min: 20 } })).items.length,
        3,
      );
      assert.equal(
        (await holdfast.list({ attribute: { name: 'city', equals: 'Bern' } })).items.length,
        5,
      );
      assert.equal((await holdfast.list({ project: 'other' })).items.length, 0);
      const pagesBy = async (sort: 'newest' | 'oldest' | 'ended'): Promise<readonly string[]> => {
        const ids: string[] = [];
        for (let from: { readonly cursor?: string } = {}; ; ) {
          const { items, cursor } = await holdfast.list({ limit: 2, sort, ...from });
          ids.push(...items.map(({ id }) => id));
          if (cursor === undefined) return ids;
          from = { cursor };
        }
      };
      const newest = await pagesBy('newest');
      assert.equal(new Set(newest).size, 6);
      assert.deepEqual(newest, newest.toSorted().toReversed());
      assert.deepEqual(await pagesBy('oldest'), newest.toReversed());
      assert.deepEqual((await pagesBy('ended')).toSorted(), tagged.map(({ id }) => id).toSorted());
      const { cursor = '' } = await holdfast.list({ limit: 2 });
      const ofOtherSort = holdfast.list({ limit: 2, sort: 'ended', cursor });
      await assert.rejects(ofOtherSort, { name: 'InvalidInput', message: /sorted by end/ });
    },
  },
  {
    name: 'X-11, X-60: no execution waits for the queue of another project, with however few slots',
    without: { 'over REST': 'a worker of a coordinator is of one project' },
    async run(stage) {
      const order: string[] = [];
      const work = pipeline({ name: 'work', run: (_ctx, who: string) => void order.push(who) });
      const holdfast = stage.holdfast();
      const submit = (count: number, who: string, lane: 'interactive' | 'batch') =>
        Array.from({ length: count }, () => holdfast.submit(work, who, { project: who, lane }));
      await Promise.all(submit(600, 'large', 'interactive'));
      await Promise.all([
        ...submit(10, 'small', 'interactive'),
        ...submit(100, 'large', 'batch'),
        ...submit(3, 'little', 'batch'),
      ]);
      await stage.worker(holdfast, [work], { concurrency: 1 });
      const count = (who: string) => order.filter((each) => each === who).length;
      while (count('small') < 10 || count('little') < 3) await pause(5);
      assert.ok(count('large') < 400, `${count('large')} of another project went first`);
    },
  },
  {
    name: 'interactive executions go first, and batch is not starved',
    async run(stage) {
      const order: string[] = [];
      const noted = pipeline({
        name: 'noted',
        run: (ctx, lane: string) =>
          ctx.step('note', () => {
            order.push(lane);
          }),
      });
      const holdfast = stage.holdfast();
      const handles = [];
      for (const lane of ['batch', 'interactive'] as const) {
        for (let n = 0; n < 20; n += 1) handles.push(await holdfast.submit(noted, lane, { lane }));
      }
      await stage.worker(holdfast, [noted], { concurrency: 10 });
      await Promise.all(handles.map((handle) => handle.result()));
      const firstHalf = order.slice(0, 20);
      const interactive = firstHalf.filter((lane) => lane === 'interactive').length;
      assert.ok(interactive > 10, `${interactive} of the first 20 were interactive`);
      assert.ok(interactive < 20, 'some of the first 20 were batch');
    },
  },
  {
    name: 'every free slot is used, however long the others are taken',
    async run(stage) {
      const gate = door();
      let begun = 0;
      const long = pipeline({
        name: 'long',
        run: (ctx) =>
          ctx.step('hold', async () => {
            begun += 1;
            await gate.passed;
          }),
      });
      const holdfast = stage.holdfast();
      const worker = await stage.worker(holdfast, [long], { concurrency: 10 });
      const handles = [];
      for (let n = 0; n < 30; n += 1) handles.push(await holdfast.submit(long, undefined));
      while (begun < 10) await pause(5);
      assert.equal(worker.running, 10);
      gate.open();
      await Promise.all(handles.map((handle) => handle.result()));
    },
  },
  {
    name: 'a worker never runs the code of more executions at once than it has slots',
    async run(stage) {
      let atOnce = 0;
      let most = 0;
      const counted = pipeline({
        name: 'counted',
        async run(ctx) {
          atOnce += 1;
          most = Math.max(most, atOnce);
          await ctx.step('one', () => pause(1));
          await ctx.step('two', () => 2);
          atOnce -= 1;
        },
      });
      const holdfast = stage.holdfast();
      const handles = [];
      for (let n = 0; n < 40; n += 1) handles.push(await holdfast.submit(counted, undefined));
      await stage.worker(holdfast, [counted], { concurrency: 3 });
      await Promise.all(handles.map((handle) => handle.result()));
      assert.equal(most, 3);
    },
  },
  {
    name: 'a worker with one slot does not wait for polls between executions',
    async run(stage) {
      const quick = pipeline({ name: 'quick', run: (ctx, n: number) => ctx.step('s', () => n) });
      const holdfast = stage.holdfast();
      // So long that one poll would exceed the test's time.
      await stage.worker(holdfast, [quick], { concurrency: 1, pollMs: 60_000 });
      for (let n = 0; n < 12; n += 1) {
        const handle = await holdfast.submit(quick, n);
        assert.equal(await handle.result(), n);
      }
    },
  },
  {
    name: 'X-12, X-64: a delayed execution neither takes a slot nor waits for one before its time',
    async run(stage) {
      const keyed = pipeline({ name: 'keyed', run: (ctx, n: number) => ctx.step('s', () => n) });
      const holdfast = stage.holdfast();
      const concurrency = { key: 'k', limit: 1 };
      const first = await holdfast.submit(keyed, 1, { concurrency });
      const worker = await stage.worker(holdfast, [keyed]);
      await first.result();
      await worker.stop();
      const running = await holdfast.submit(keyed, 2, { concurrency });
      const delayed = await holdfast.submit(keyed, 3, { concurrency, delayMs: 3_600_000 });
      const last = await holdfast.submit(keyed, 4, { concurrency });
      await stage.worker(holdfast, [keyed]);
      assert.deepEqual(await Promise.all([running.result(), last.result()]), [2, 4]);
      const { hasSlot, holds } = (await holdfast.read(delayed.id)) ?? {};
      assert.deepEqual([hasSlot, holds], [false, []]);
    },
  },
  {
    name: 'different inputs under one key are a conflict, however alike',
    async run(stage) {
      const holdfast = stage.holdfast();
      const values = [{}, [], null, undefined, { a: 1 }, [['a', 1]], ['a', 1]];
      for (const [n, first] of values.entries()) {
        for (const [m, second] of values.entries()) {
          const key = `${n}/${m}`;
          await holdfast.submit('x', first, { key });
          const again = holdfast.submit('x', second, { key });
          if (n === m) assert.equal((await again).existing, true);
          else await assert.rejects(again, { name: 'SubmitRefused' }, key);
        }
      }
    },
  },
];
