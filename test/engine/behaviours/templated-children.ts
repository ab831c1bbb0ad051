// Children that the code spawns by template.

import assert from 'node:assert/strict';
import { TemplateRefused } from '../../../src/engine/failures.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door } from '../stage.ts';

const bill = pipeline({ name: 'bill', run: (_ctx, input: object) => input });
const TEMPLATE = { id: 'invoice', pipeline: bill, lane: 'batch', tags: ['monthly'] } as const;

export const TEMPLATED_CHILDREN: readonly Behaviour[] = [
  {
    name: 'X-31: a child by template has the template’s defaults and options below the given ones',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const ref = { template: 'invoice' };
          const one = await ctx.spawn(ref, { days: 10 }, { tags: ['urgent'] });
          const old = await ctx.spawn({ ...ref, version: 1 }, undefined);
          const many = await ctx.fanOut(ref, [{ days: 1 }, undefined]);
          return [await one.result(), await old.result(), ...(await many.results())];
        },
      });
      const holdfast = stage.holdfast();
      await holdfast.templates.put({ ...TEMPLATE, version: 1, defaults: { days: 30 } });
      await holdfast.templates.put({ ...TEMPLATE, version: 2, defaults: { days: 20, vat: 8 } });
      await stage.worker(holdfast, [parent, bill]);
      const { id, result } = await holdfast.submit(parent, undefined);
      assert.deepEqual(await result(), [
        { days: 10, vat: 8 },
        { days: 30 },
        { days: 1, vat: 8 },
        { days: 20, vat: 8 },
      ]);
      const { items } = await holdfast.list({ pipeline: 'bill' });
      // Ids of children from one millisecond have no order.
      assert.deepEqual(
        items
          .map(({ template, lane, tags }) => [template?.version, lane, ...tags].join(' '))
          .sort(),
        ['1 batch monthly', '2 batch monthly', '2 batch monthly', '2 batch urgent'],
      );
      const spawned = (await holdfast.history(id)).filter(({ kind }) => kind === 'child-spawned');
      assert.deepEqual(new Set(spawned.map(({ name }) => name)), new Set(['invoice']));
    },
  },
  {
    name: 'X-31: a missing template throws in the code, in a replay too',
    async run(stage) {
      const runs: string[] = [];
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          try {
            await ctx.spawn({ template: 'invoice' }, {});
          } catch (error) {
            assert.ok(error instanceof TemplateRefused);
            runs.push(error.message);
          }
          await ctx.step('instead', () => 1);
          return ctx.receive('go');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent]);
      const { id, result } = await holdfast.submit(parent, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await holdfast.signal(id, { name: 'go', value: 'done' });
      assert.equal(await result(), 'done');
      assert.equal(runs.length, 2);
    },
  },
  {
    name: 'X-31: all children of one call have the version of the first, even if another worker spawns the rest',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          // More than fit one commit.
          const { ids } = await ctx.fanOut({ template: 'invoice' }, new Array(1_001).fill({}));
          return ids.length;
        },
      });
      const half = door();
      const crashed = door();
      const dying = stage.holdfastWith((executions) => ({
        record: async (request) => {
          if ((request.children?.length ?? 0) === 1) {
            half.open();
            await crashed.passed;
          }
          return executions.record(request);
        },
      }));
      await dying.templates.put({ ...TEMPLATE, version: 1, defaults: { n: 1 } });
      const first = await stage.worker(dying, [parent]);
      const { id, result } = await dying.submit(parent, undefined);
      await half.passed;
      await dying.templates.put({ ...TEMPLATE, version: 2, defaults: { n: 2 } });
      await stage.crash(first);
      crashed.open();
      await stage.worker(stage.holdfast(), [parent]);
      assert.equal(await result(), 1_001);
      const children = await dying.list({ pipeline: 'bill', limit: 2_000 });
      assert.equal(children.items.length, 1_001);
      const versions = new Set(children.items.map(({ template }) => template?.version));
      assert.deepEqual(versions, new Set([1]));
      assert.equal((await dying.read(id))?.status, 'completed');
    },
  },
];
