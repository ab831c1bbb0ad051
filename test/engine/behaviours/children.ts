import assert from 'node:assert/strict';
import type { ChildFailed } from '../../../src/engine/failures.ts';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { derivedUuid, interactionId } from '../../../src/engine/ids.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionStore } from '../../../src/store/contract/execution-store.ts';
import { OutcomeUnknown } from '../../../src/support/fault.ts';
import { systemTimers, type Timers } from '../../../src/support/timer.ts';
import { type Behaviour, door, pause } from '../stage.ts';

async function remindersOf(holdfast: Holdfast, id: string): Promise<readonly string[]> {
  const found = await holdfast.list({ attribute: { name: 'reminder', equals: id } });
  return found.items.map((each) => each.id);
}

const doubling = pipeline({
  name: 'doubling',
  run: (ctx, n: number) =>
    ctx.step('double', () => {
      if (n === 13) throw Object.assign(new Error('unlucky'), { category: 'permanent' });
      return n * 2;
    }),
});

/** An id that an outsider could derive from the execution, the call and the time. */
const guessed = (lineage: string, call: string): string => derivedUuid(`${lineage}/0/${call}`);

export const CHILDREN: readonly Behaviour[] = [
  {
    name: 'X-13: the ids of children and reminders cannot be guessed and taken first',
    async run(stage) {
      const asking = pipeline({
        name: 'asking',
        async run(ctx) {
          const child = await ctx.spawn(doubling, 1);
          const { ids } = await ctx.fanOut(doubling, [1, 2]);
          await ctx.await('approve', { reminders: [{ afterMs: 1, pipeline: 'doubling' }] });
          return [child.id, ...ids];
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [asking, doubling]);
      const handle = await holdfast.submit(asking, undefined);
      while ((await remindersOf(holdfast, handle.id)).length === 0) await pause(5);
      await holdfast.awaits.answer(interactionId({ execution: handle.id, name: 'approve' }), true);
      const ids = [...(await handle.result()), ...(await remindersOf(holdfast, handle.id))];
      const calls = ['child:doubling#1[0]', 'children:doubling#1[0]', 'children:doubling#1[1]'];
      const guesses = [
        ...calls.map((call) => guessed(handle.id, call)),
        derivedUuid(`${handle.id}/await:approve#1/reminder[0]`),
      ];
      assert.equal(ids.length, guesses.length);
      for (const [nth, id] of ids.entries()) {
        assert.notEqual(id.slice(15), guesses[nth]?.slice(15), `${calls[nth]} can be guessed`);
      }
    },
  },
  {
    name: 'a child runs on its own and its parent gets its output',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx, n: number) {
          const child = await ctx.spawn(doubling, n);
          return { id: child.id, output: await child.result() };
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, doubling]);
      const handle = await holdfast.submit(parent, 21);
      const { id, output } = await handle.result();
      assert.equal(output, 42);
      const child = await holdfast.read(id);
      assert.equal(child?.parent?.id, handle.id);
      assert.equal(child?.status, 'completed');
    },
  },
  {
    name: 'a failed child is an error that the parent may catch, or an outcome',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const bad = await ctx.spawn(doubling, 13);
          const caught = await bad.result().catch((error: Error) => error.name);
          const many = await ctx.fanOut(doubling, [1, 13, 3]);
          const outcomes = await many.outcomes();
          return { caught, statuses: outcomes.map(({ status }) => status) };
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, doubling]);
      const handle = await holdfast.submit(parent, undefined);
      assert.deepEqual(await handle.result(), {
        caught: 'ChildFailed',
        statuses: ['completed', 'failed', 'completed'],
      });
    },
  },
  {
    name: 'a fan-out of hundreds returns in order, and wakes its parent a few times at most',
    async run(stage) {
      const inputs = Array.from({ length: 500 }, (_, index) => index + 100);
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const children = await ctx.fanOut(doubling, inputs);
          return children.results();
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, doubling]);
      const handle = await holdfast.submit(parent, undefined);
      assert.deepEqual(
        await handle.result(),
        inputs.map((n) => n * 2),
      );
      const history = await holdfast.history(handle.id);
      const claims = history.filter(({ kind }) => kind === 'claimed').length;
      assert.ok(claims <= 10, `it was claimed ${claims} times`);
    },
  },
  {
    name: 'a recovered parent does not spawn its children again',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(doubling, 4);
          await ctx.receive('go');
          return child.result();
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [parent]);
      const handle = await holdfast.submit(parent, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await stage.crash(first);
      await stage.worker(holdfast, [parent, doubling]);
      await holdfast.signal(handle.id, { name: 'go' });
      assert.equal(await handle.result(), 8);
      const children = await stage.store.executions.children({ parent: handle.id, limit: 10 });
      assert.equal(children.length, 1);
    },
  },
  {
    name: 'X-14: a child that continues as new notifies its parent once, when the last execution ends',
    async run(stage) {
      const looping = pipeline({
        name: 'looping',
        async run(ctx, n: number) {
          await ctx.step('tick', () => n);
          if (n < 3) ctx.continueAsNew(n + 1);
          return `after ${n}`;
        },
      });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(looping, 1);
          return child.result();
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, looping]);
      const handle = await holdfast.submit(parent, undefined);
      assert.equal(await handle.result(), 'after 3');
      const ends = (await holdfast.history(handle.id)).filter(({ kind }) => kind === 'child-ended');
      assert.equal(ends.length, 1);
    },
  },
  {
    name: 'children of different checkpoints are not mixed up',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const got = [...((ctx.restored as readonly number[] | undefined) ?? [])];
          while (got.length < 3) {
            const child = await ctx.spawn(doubling, got.length + 100);
            got.push(await child.result());
            await ctx.checkpoint(got);
          }
          return got;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, doubling]);
      const handle = await holdfast.submit(parent, undefined);
      assert.deepEqual(await handle.result(), [200, 202, 204]);
    },
  },
  {
    name: 'X-125: a parent signals and cancels its children, and gets false for one that has ended',
    async run(stage) {
      const listening = pipeline({
        name: 'listening',
        run: async (ctx) => [await ctx.receive('word'), await ctx.receive('word')],
      });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const listener = await ctx.spawn(listening, undefined, { name: 'listener' });
          const sent = [
            await listener.signal('word', { n: 1 }),
            await listener.signal('word', { n: 2 }),
          ];
          const output = await listener.result();
          const left = await ctx.spawn(listening, undefined, { name: 'left' });
          sent.push(await left.cancel('not needed'));
          const end = await left.result().catch((error: Error) => error.name);
          sent.push(await left.signal('word'), await left.cancel());
          return { sent, output, end };
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, listening]);
      const handle = await holdfast.submit(parent, undefined);
      assert.deepEqual(await handle.result(), {
        sent: [true, true, true, false, false],
        output: [{ n: 1 }, { n: 2 }],
        end: 'ChildFailed',
      });
    },
  },
  {
    name: 'X-125: a signal to a child whose reply was lost arrives once, also after a crash',
    async run(stage) {
      const words: unknown[] = [];
      const listening = pipeline({
        name: 'listening',
        async run(ctx) {
          for (;;) {
            const word = await ctx.receive('word');
            await ctx.step('keep', () => void words.push(word));
            if (word === 'end') return words.length;
          }
        },
      });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(listening, undefined);
          await child.signal('word', 'first');
          await child.signal('word', 'end');
          return child.result();
        },
      });
      const sent = door();
      let sends = 0;
      const losing = (executions: ExecutionStore): Partial<ExecutionStore> => ({
        async messageChild(request) {
          sends += 1;
          await executions.messageChild(request);
          sent.open();
          throw new OutcomeUnknown('the reply is lost');
        },
      });
      const timers: Timers = {
        ...systemTimers,
        pause: (_, signal) => systemTimers.pause(1, signal),
      };
      const lossy = stage.holdfastWith(losing, {}, { timers });
      const first = await stage.worker(lossy, [parent]);
      const handle = await lossy.submit(parent, undefined);
      await sent.passed;
      await stage.crash(first);
      const sendsUntilCrash = sends;
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, listening]);
      assert.equal(await holdfast.result(handle.id), 2);
      assert.deepEqual(words, ['first', 'end']);
      assert.equal(sends, sendsUntilCrash, 'a crashed worker sends nothing more');
    },
  },
  {
    name: 'X-126: a child with a key is found by it, and does not start if the key is taken',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx, key: string) {
          const child = await ctx.spawn(doubling, 4, { key });
          return child.result().catch((error: ChildFailed) => error.failure?.code);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parent, doubling]);
      const first = await holdfast.submit(parent, 'double/4');
      assert.equal(await first.result(), 8);
      assert.equal((await holdfast.read('key:double/4'))?.parent?.id, first.id);
      const second = await holdfast.submit(parent, 'double/4');
      assert.equal(await second.result(), 'key-in-use');
      const children = await stage.store.executions.children({ parent: second.id, limit: 10 });
      assert.equal(children.length, 0);
    },
  },
  {
    name: 'X-126: a parent that crashed before it noticed a taken key notices it in the next claim',
    async run(stage) {
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(doubling, 4, { key: 'taken' });
          return child.result().catch((error: ChildFailed) => error.failure?.code);
        },
      });
      const asked = door();
      const stuck = stage.holdfastWith((executions) => ({
        read(id) {
          if (id === handle?.id) return executions.read(id);
          asked.open();
          return new Promise(() => undefined);
        },
      }));
      const holdfast = stage.holdfast();
      await holdfast.submit(doubling, 1, { key: 'taken' });
      const handle = await holdfast.submit(parent, undefined);
      const first = await stage.worker(stuck, [parent]);
      await asked.passed;
      await stage.crash(first);
      await stage.worker(holdfast, [parent]);
      assert.equal(await handle.result(), 'key-in-use');
      const ends = (await holdfast.history(handle.id)).filter(({ kind }) => kind === 'child-ended');
      assert.equal(ends.length, 1);
    },
  },
];
