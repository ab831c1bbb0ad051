import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door } from '../stage.ts';

export const RECOVERY: readonly Behaviour[] = [
  {
    name: 'another worker continues after the last recorded step, under a higher fence',
    async run(stage) {
      const ran: string[] = [];
      const fences: number[] = [];
      const gate = door();
      const three = pipeline({
        name: 'three',
        async run(ctx) {
          for (const name of ['one', 'two', 'three']) {
            await ctx.step(name, async ({ fence }) => {
              ran.push(name);
              fences.push(fence);
              if (name === 'two' && ran.length === 2) await gate.passed;
            });
          }
          return ran.length;
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [three]);
      const handle = await holdfast.submit(three, undefined);
      await stage.until(holdfast, handle.id, () => ran.length === 2);
      await stage.crash(first);
      const second = await stage.worker(holdfast, [three]);
      await handle.result();
      assert.deepEqual(ran, ['one', 'two', 'two', 'three']);
      assert.ok((fences[2] ?? 0) > (fences[1] ?? 0));
      // The dead worker's step ends now, and its result is ignored.
      gate.open();
      const events = await holdfast.history(handle.id);
      const again = events.find(({ kind, name }) => kind === 'step-completed' && name === 'two');
      assert.match(
        again?.body ?? '',
        /"again":true/,
        'history marks that the step may have run twice',
      );
      assert.equal(events.filter(({ kind }) => kind === 'completed').length, 1);
      await second.stop();
    },
  },
  {
    name: 'a worker that stops yields its executions, which another takes over at once',
    async run(stage) {
      const gate = door();
      let begun = 0;
      const two = pipeline({
        name: 'two',
        async run(ctx) {
          await ctx.step('first', async () => {
            begun += 1;
            await gate.passed;
          });
          return ctx.step('second', () => 'moved');
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [two]);
      const handle = await holdfast.submit(two, undefined);
      await stage.until(holdfast, handle.id, () => begun === 1);
      const stopping = first.stop();
      gate.open();
      await stopping;
      const parted = await holdfast.read(handle.id);
      assert.equal(parted?.status, 'queued');
      assert.equal(parted?.claimsWithoutProgress, 0);
      await stage.worker(holdfast, [two]);
      assert.equal(await handle.result(), 'moved');
      assert.equal(begun, 1, 'its step was allowed to finish');
    },
  },
  {
    name: 'a step that does not stop in time is left behind, and its result is refused',
    async run(stage) {
      const gate = door();
      let begun = 0;
      const stubborn = pipeline({
        name: 'stubborn',
        run: (ctx) =>
          ctx.step('deaf', async () => {
            begun += 1;
            if (begun === 1) await gate.passed;
            return begun;
          }),
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [stubborn], { stopGraceMs: 20 });
      const handle = await holdfast.submit(stubborn, undefined);
      await stage.until(holdfast, handle.id, () => begun === 1);
      await first.stop();
      await stage.worker(holdfast, [stubborn]);
      assert.equal(await handle.result(), 2);
      gate.open();
      const done = (await holdfast.history(handle.id)).filter(
        ({ kind }) => kind === 'step-completed',
      );
      assert.equal(done.length, 1);
    },
  },
  {
    name: 'X-57: an execution that kills every worker is quarantined',
    async run(stage) {
      let begun = 0;
      const poison = pipeline({
        name: 'poison',
        run: (ctx) =>
          ctx.step('kill', () => {
            begun += 1;
            return new Promise<void>(() => undefined);
          }),
      });
      const holdfast = stage.holdfast({ maxClaimsWithoutProgress: 3 });
      const handle = await holdfast.submit(poison, undefined);
      for (let death = 1; death <= 4; death += 1) {
        const worker = await stage.worker(holdfast, [poison]);
        if (death === 4) break;
        await stage.until(holdfast, handle.id, () => begun === death);
        await stage.crash(worker);
      }
      await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'quarantined' });
      assert.equal(begun, 3);
    },
  },
  {
    name: 'checkpoint policies save commits, and their steps may run twice',
    async run(stage) {
      const ran: number[] = [];
      const gate = door();
      const soft = pipeline({
        name: 'soft',
        checkpoint: { every: 'steps', steps: 4 },
        async run(ctx) {
          for (let n = 1; n <= 6; n += 1) {
            await ctx.step('work', () => {
              ran.push(n);
            });
          }
          await ctx.step('gate', () => gate.passed);
          return ran.length;
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [soft]);
      const handle = await holdfast.submit(soft, undefined);
      await stage.until(holdfast, handle.id, () => ran.length === 6);
      await stage.untilHistory(holdfast, handle.id, (events) => events.length >= 6);
      await stage.crash(first);
      gate.open();
      await stage.worker(holdfast, [soft]);
      await handle.result();
      // Four steps were recorded together; five and six were not.
      assert.deepEqual(ran, [1, 2, 3, 4, 5, 6, 5, 6]);
    },
  },
  {
    name: 'a checkpoint of the code replaces the history before it',
    async run(stage) {
      const ran: string[] = [];
      const gate = door();
      const counting = pipeline({
        name: 'counting',
        validateCheckpoint(state) {
          if (typeof (state as { at?: unknown }).at !== 'number') throw new Error('no number');
        },
        async run(ctx) {
          const start = (ctx.restored as { at: number } | undefined)?.at ?? 0;
          for (let at = start; at < 4; at += 1) {
            await ctx.step('work', ({ idempotencyKey }) => {
              ran.push(`${at} ${idempotencyKey.split('/').slice(1).join('/')}`);
            });
            await ctx.checkpoint({ at: at + 1 });
            if (at === 1) await ctx.step('gate', () => gate.passed);
          }
          await assert.rejects(ctx.checkpoint({ wrong: true }), /no number/);
          return start;
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [counting]);
      const handle = await holdfast.submit(counting, undefined);
      await stage.until(holdfast, handle.id, () => ran.length === 2);
      await stage.untilHistory(
        holdfast,
        handle.id,
        (events) => events.filter(({ kind }) => kind === 'checkpointed').length === 2,
      );
      await stage.crash(first);
      gate.open();
      await stage.worker(holdfast, [counting]);
      assert.equal(await handle.result(), 2);
      assert.deepEqual(ran, [
        '0 0/step:work#1',
        '1 1/step:work#1',
        '2 2/step:work#1',
        '3 3/step:work#1',
      ]);
    },
  },
  {
    name: 'all concurrent steps are marked when their owner was lost',
    async run(stage) {
      const gate = door();
      let begun = 0;
      const side = pipeline({
        name: 'side',
        run: (ctx) =>
          Promise.all(
            ['a', 'b'].map((name) =>
              ctx.step(name, async () => {
                begun += 1;
                if (begun <= 2) await gate.passed;
                return name;
              }),
            ),
          ),
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [side]);
      const handle = await holdfast.submit(side, undefined);
      await stage.until(holdfast, handle.id, () => begun === 2);
      await stage.crash(first);
      await stage.worker(holdfast, [side]);
      await handle.result();
      const again = (await holdfast.history(handle.id)).filter(({ body }) =>
        body?.includes('"again":true'),
      );
      assert.equal(again.length, 2);
      gate.open();
    },
  },
  {
    name: 'a step that a stop left behind is marked when it runs again',
    async run(stage) {
      const gate = door();
      let begun = 0;
      const deaf = pipeline({
        name: 'deaf',
        run: (ctx) =>
          ctx.step('work', async () => {
            begun += 1;
            if (begun === 1) await gate.passed;
          }),
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [deaf], { stopGraceMs: 10 });
      const handle = await holdfast.submit(deaf, undefined);
      await stage.until(holdfast, handle.id, () => begun === 1);
      await first.stop();
      await stage.worker(holdfast, [deaf]);
      await handle.result();
      const done = (await holdfast.history(handle.id)).find(
        ({ kind }) => kind === 'step-completed',
      );
      assert.match(done?.body ?? '', /"again":true/);
      gate.open();
    },
  },
];
