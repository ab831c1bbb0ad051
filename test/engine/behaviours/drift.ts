import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

type Code = (ctx: Context) => Promise<unknown>;

let deploys = 0;

/** Runs `before` to its wait, replaces the code by `after`, and answers with the execution's id. */
async function deploy(
  stage: Stage,
  before: Code,
  after: Code,
): Promise<{ id: string; fix(code: Code): Promise<void>; result(): Promise<unknown> }> {
  const holdfast = stage.holdfast();
  deploys += 1;
  const name = `changing ${deploys}`;
  const old = await stage.worker(holdfast, [pipeline({ name, run: before })]);
  const handle = await holdfast.submit(name, undefined);
  await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
  await old.stop();
  let worker = await stage.worker(holdfast, [pipeline({ name, run: after })]);
  await holdfast.signal(handle.id, { name: 'go' });
  return {
    id: handle.id,
    result: () => handle.result(),
    async fix(code) {
      await worker.stop();
      worker = await stage.worker(holdfast, [pipeline({ name, run: code })]);
      await holdfast.resume(handle.id);
    },
  };
}

const original: Code = async (ctx) => {
  await ctx.step('charge', () => 1);
  await ctx.receive('go');
  return ctx.step('ship', () => 'shipped');
};

export const DRIFT: readonly Behaviour[] = [
  {
    name: 'a renamed step blocks the execution and names both; the right code goes on',
    async run(stage) {
      const changed = await deploy(stage, original, async (ctx) => {
        await ctx.step('bill', () => 1);
        await ctx.receive('go');
        return 'never';
      });
      const holdfast = stage.holdfast();
      const blocked = await stage.until(holdfast, changed.id, ({ holds }) =>
        holds.includes('blocked'),
      );
      assert.equal(blocked.status, 'queued');
      const last = (await holdfast.history(changed.id)).at(-1);
      assert.equal(last?.kind, 'blocked');
      assert.match(last?.body ?? '', /step:charge#1.*step:bill#1/);
      await changed.fix(original);
      assert.equal(await changed.result(), 'shipped');
    },
  },
  {
    name: 'a removed step blocks it, also when the code fails early',
    async run(stage) {
      const removed = await deploy(stage, original, async () => 'too early');
      const holdfast = stage.holdfast();
      await stage.until(holdfast, removed.id, ({ holds }) => holds.includes('blocked'));
      const failing = await deploy(stage, original, async () => {
        throw new Error('a bad deploy');
      });
      await stage.until(holdfast, failing.id, ({ holds }) => holds.includes('blocked'));
      const last = (await holdfast.history(failing.id)).at(-1);
      assert.match(last?.body ?? '', /step:charge#1.*it threw Error: a bad deploy/);
      await failing.fix(original);
      assert.equal(await failing.result(), 'shipped');
    },
  },
  {
    name: 'a step that was added after what is recorded is fine',
    async run(stage) {
      const added = await deploy(stage, original, async (ctx) => {
        await ctx.step('charge', () => 1);
        await ctx.receive('go');
        await ctx.step('new', () => 2);
        return ctx.step('ship', () => 'shipped anew');
      });
      assert.equal(await added.result(), 'shipped anew');
    },
  },
  {
    name: 'a checkpoint that was added before what is recorded blocks it: it would forget that',
    async run(stage) {
      const added = await deploy(stage, original, async (ctx) => {
        await ctx.checkpoint({});
        return original(ctx);
      });
      const holdfast = stage.holdfast();
      const { holds } = await stage.until(
        holdfast,
        added.id,
        ({ holds: now, status }) => now.includes('blocked') || status === 'completed',
      );
      assert.deepEqual(holds, ['blocked']);
      const last = (await holdfast.history(added.id)).at(-1);
      assert.match(last?.body ?? '', /step:charge#1.*ctx\.checkpoint/);
      await added.fix(original);
      assert.equal(await added.result(), 'shipped');
    },
  },
  {
    name: 'a step that was cut off beside one that is recorded is no drift, however late the code asks',
    async run(stage) {
      const gate = door();
      let slow = 0;
      const branching = pipeline({
        name: 'branching',
        async run(ctx) {
          const [first, second] = await Promise.all([
            ctx.step('slow', async () => {
              slow += 1;
              if (slow === 1) await gate.passed;
              return 'slow';
            }),
            // Longer than the grace after which the code is taken to have drifted.
            new Promise((resolve) => setTimeout(resolve, 250)).then(() => ctx.step('b', () => 'b')),
          ]);
          return [first, second];
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [branching]);
      const handle = await holdfast.submit(branching, undefined);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ name }) => name === 'b'),
      );
      await stage.crash(first);
      await stage.worker(holdfast, [branching]);
      assert.deepEqual(await handle.result(), ['slow', 'b']);
      gate.open();
    },
  },
  {
    name: 'steps that changed places block it',
    async run(stage) {
      const two: Code = async (ctx) => {
        await ctx.step('a', () => 1);
        await ctx.step('b', () => 2);
        await ctx.receive('go');
        return 'two';
      };
      const swapped = await deploy(stage, two, async (ctx) => {
        await ctx.step('b', () => 2);
        await ctx.step('a', () => 1);
        await ctx.receive('go');
        return 'swapped';
      });
      const holdfast = stage.holdfast();
      await stage.until(holdfast, swapped.id, ({ holds }) => holds.includes('blocked'));
      await swapped.fix(two);
      assert.equal(await swapped.result(), 'two');
    },
  },
  {
    name: 'a spawn that was refused and caught is no call, and no drift later',
    async run(stage) {
      const code: Code = async (ctx) => {
        const refused = await ctx
          .spawn('child', { when: new Date(0) })
          .catch((error: Error) => error.name);
        await ctx.receive('go');
        return refused;
      };
      const same = await deploy(stage, code, code);
      assert.equal(await same.result(), 'InvalidInput');
    },
  },
  {
    name: 'large results reach the code in the order of history too',
    async run(stage) {
      const order: string[] = [];
      const code: Code = async (ctx) => {
        const big = ctx.step('big', () => 'x'.repeat(200_000)).then(() => order.push('big'));
        const small = ctx.step('small', async () => {
          await new Promise((resolve) => setTimeout(resolve, 40));
          return 's';
        });
        const noted = small.then(() => order.push('small'));
        await Promise.all([big, noted]);
        await ctx.receive('go');
      };
      const same = await deploy(stage, code, code);
      await same.result();
      assert.equal(order.length, 4);
      assert.deepEqual(order.slice(2), order.slice(0, 2));
    },
  },
];
