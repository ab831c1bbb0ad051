import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door } from '../stage.ts';

export const PAUSING: readonly Behaviour[] = [
  {
    name: 'X-18: a resume wins over a pause that its worker has not acted on yet',
    async run(stage) {
      const { passed, open } = door();
      const working = pipeline({
        name: 'working',
        async run(ctx) {
          await ctx.step('wait', () => passed);
          return ctx.step('go on', () => 'done');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [working]);
      const { id, result } = await holdfast.submit(working, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      assert.equal((await holdfast.pause(id)).kind, 'passed-on');
      assert.equal((await holdfast.resume(id)).kind, 'passed-on');
      open();
      assert.equal(await result(), 'done');
      const kinds = (await holdfast.history(id)).map(({ kind }) => kind);
      assert.ok(!kinds.includes('paused'), kinds.join());
    },
  },
  {
    name: 'X-18: a resume that comes while the execution is given back as paused wins',
    async run(stage) {
      const answers: string[] = [];
      const holdfast = stage.holdfastWith((executions) => ({
        giveBack: async (request) => {
          if (request.paused === true) answers.push((await holdfast.resume(request.id)).kind);
          return executions.giveBack(request);
        },
      }));
      const { passed, open } = door();
      const working = pipeline({
        name: 'working',
        async run(ctx) {
          await ctx.step('wait', () => passed);
          return ctx.step('go on', () => 'done');
        },
      });
      await stage.worker(holdfast, [working]);
      const { id, result } = await holdfast.submit(working, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      await holdfast.pause(id);
      open();
      assert.equal(await result(), 'done');
      assert.deepEqual(answers, ['passed-on']);
    },
  },
  {
    name: 'X-17: a cancel that comes while the execution is given back as paused ends it',
    async run(stage) {
      const holdfast = stage.holdfastWith((executions) => ({
        giveBack: async (request) => {
          if (request.paused === true) await holdfast.cancel(request.id);
          return executions.giveBack(request);
        },
      }));
      const { passed, open } = door();
      const working = pipeline({
        name: 'working',
        async run(ctx) {
          await ctx.step('wait', () => passed);
          await ctx.step('go on', () => undefined);
        },
      });
      await stage.worker(holdfast, [working]);
      const { id, result } = await holdfast.submit(working, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      await holdfast.pause(id);
      open();
      await assert.rejects(result(), { status: 'cancelled' });
    },
  },
  {
    name: 'X-18: what was paused and resumed before can be paused again',
    async run(stage) {
      const doors = [door(), door()] as const;
      const working = pipeline({
        name: 'working',
        async run(ctx) {
          await ctx.step('first', () => doors[0].passed);
          await ctx.step('second', () => doors[1].passed);
          return ctx.step('go on', () => 'done');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [working]);
      const { id, result } = await holdfast.submit(working, undefined);
      for (const { open } of doors) {
        await stage.until(holdfast, id, ({ status }) => status === 'running');
        await holdfast.pause(id);
        open();
        await stage.until(holdfast, id, ({ holds }) => holds.includes('paused'));
        assert.equal((await holdfast.resume(id)).kind, 'done');
      }
      assert.equal(await result(), 'done');
    },
  },
];
