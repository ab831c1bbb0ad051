import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { InboxMessage } from '../../../src/execution/history.ts';
import { type Behaviour, door } from '../stage.ts';

export const WAITING: readonly Behaviour[] = [
  {
    name: 'a sleep parks the execution, wakes by itself, and steps before it do not run again',
    async run(stage) {
      let before = 0;
      const sleepy = pipeline({
        name: 'sleepy',
        async run(ctx) {
          await ctx.step('before', () => {
            before += 1;
          });
          await ctx.sleep(500);
          return ctx.step('after', () => 'awake');
        },
      });
      const holdfast = stage.holdfast({ parkAfterMs: 20 });
      await stage.worker(holdfast, [sleepy]);
      const handle = await holdfast.submit(sleepy, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      assert.equal(await handle.result(), 'awake');
      assert.equal(before, 1);
      const kinds = (await holdfast.history(handle.id)).map(({ kind }) => kind);
      assert.deepEqual(kinds, [
        ...['submitted', 'claimed', 'step-completed', 'timer-set', 'parked'],
        ...['claimed', 'timer-fired', 'step-completed', 'completed'],
      ]);
    },
  },
  {
    name: 'a short sleep stays in memory; sleepUntil in the past ends at once',
    async run(stage) {
      const napping = pipeline({
        name: 'napping',
        async run(ctx) {
          await ctx.sleep(5, 'nap');
          await ctx.sleepUntil(new Date(0));
          return 'done';
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [napping]);
      const handle = await holdfast.submit(napping, undefined);
      assert.equal(await handle.result(), 'done');
      const kinds = (await holdfast.history(handle.id)).map(({ kind }) => kind);
      assert.equal(kinds.includes('parked'), false);
    },
  },
  {
    name: 'signals wait for a receive, in their order, and each is delivered once',
    async run(stage) {
      const listening = pipeline({
        name: 'listening',
        async run(ctx) {
          const first = await ctx.receive<number>('n');
          const second = await ctx.receive<number>('n');
          const other = await ctx.receive<string>('other');
          return [first, second, other];
        },
      });
      const holdfast = stage.holdfast();
      const handle = await holdfast.submit(listening, undefined);
      // Before the code receives.
      await holdfast.signal(handle.id, { name: 'other', value: 'o' });
      await holdfast.signal(handle.id, { name: 'n', value: 1 });
      await stage.worker(holdfast, [listening]);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await holdfast.signal(handle.id, { name: 'n', value: 2 });
      assert.deepEqual(await handle.result(), [1, 2, 'o']);
      await holdfast.signal(handle.id, { name: 'n', value: 3 }).then((answer) => {
        assert.equal(answer.kind, 'refused');
      });
    },
  },
  {
    name: 'a signal that is read as the code asks does not overtake earlier ones',
    without: { 'over REST': 'the heartbeat of this process announces the signal' },
    async run(stage) {
      const { executions, sessions } = stage.store;
      const [beaten, asked] = [door(), door()];
      let second: readonly InboxMessage[] = [];
      const holdfast = stage.holdfastWith(
        () => ({
          inbox: async (query) => (query.after === 1 ? second : executions.inbox(query)),
        }),
        {
          sessions: {
            ...sessions,
            async heartbeat(request) {
              const result = await sessions.heartbeat(request);
              if (second.length > 0 && result.kind === 'alive' && result.notices > 0) {
                beaten.open();
                await asked.passed;
              }
              return result;
            },
          },
        },
      );
      const collecting = pipeline({
        name: 'collecting',
        checkpoint: { every: 'step', runAhead: false },
        async run(ctx) {
          await ctx.step('begin', () => undefined);
          await holdfast.signal(ctx.id, { name: 'n', value: 2 });
          second = await executions.inbox({ id: ctx.id, after: 1, limit: 9 });
          await beaten.passed;
          const first = ctx.receive<number>('n');
          asked.open();
          return [await first, await ctx.receive<number>('n')];
        },
      });
      const handle = await holdfast.submit(collecting, undefined);
      await holdfast.signal(handle.id, { name: 'n', value: 1 });
      await stage.worker(holdfast, [collecting], { ttlMs: 1_000 });
      assert.deepEqual(await handle.result(), [1, 2]);
    },
  },
  {
    name: 'a signal that comes while the execution parks is not missed',
    async run(stage) {
      const eager = pipeline({ name: 'eager', run: (ctx) => ctx.receive<number>('go') });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [eager]);
      for (let round = 0; round < 30; round += 1) {
        const handle = await holdfast.submit(eager, undefined);
        const delayed = new Promise((resolve) => setTimeout(resolve, round % 7));
        await delayed;
        await holdfast.signal(handle.id, { name: 'go', value: round });
        assert.equal(await handle.result(), round);
      }
    },
  },
  {
    name: 'a paused execution stays paused until it is resumed',
    async run(stage) {
      const pausing = pipeline({
        name: 'pausing',
        async run(ctx) {
          await ctx.receive('go');
          return 'went';
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [pausing]);
      const handle = await holdfast.submit(pausing, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await holdfast.pause(handle.id, { actor: 'olga', reason: 'audit' });
      await holdfast.signal(handle.id, { name: 'go' });
      const held = await stage.until(holdfast, handle.id, ({ status }) => status === 'queued');
      assert.deepEqual(held.holds, ['paused']);
      await holdfast.resume(handle.id);
      assert.equal(await handle.result(), 'went');
    },
  },
  {
    name: 'a running execution is paused when its step is done',
    async run(stage) {
      let release = (): void => undefined;
      const working = pipeline({
        name: 'working',
        async run(ctx) {
          await ctx.step(
            'long',
            () =>
              new Promise<void>((resolve) => {
                release = resolve;
              }),
          );
          return ctx.step('next', () => 'done');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [working], { ttlMs: 1_000 });
      const handle = await holdfast.submit(working, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'running');
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal((await holdfast.pause(handle.id)).kind, 'forwarded');
      release();
      const held = await stage.until(holdfast, handle.id, ({ holds }) => holds.includes('paused'));
      assert.equal(held.status, 'queued');
      await holdfast.resume(handle.id);
      assert.equal(await handle.result(), 'done');
    },
  },
  {
    name: 'a deadline ends an execution, waiting or running',
    async run(stage) {
      const late = pipeline({
        name: 'late',
        run: (ctx) => ctx.step('hang', () => new Promise<void>(() => undefined)),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [late]);
      const running = await holdfast.submit(late, undefined, { deadlineMs: 100 });
      await assert.rejects(running.result(), { name: 'ExecutionFailed', message: /deadline/ });
      const queued = await holdfast.submit('nobody runs this', undefined, { deadlineMs: 1 });
      await new Promise((resolve) => setTimeout(resolve, 10));
      await stage.store.executions.maintain({ limit: 10 });
      await assert.rejects(queued.result(), { name: 'ExecutionFailed', message: /deadline/ });
    },
  },
];
