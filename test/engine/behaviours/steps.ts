import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';
import { door } from '../stage.ts';

export const STEPS: readonly Behaviour[] = [
  {
    name: 'each step runs once, and its result is returned to the code',
    async run(stage) {
      let calls = 0;
      const sum = pipeline({
        name: 'sum',
        async run(ctx, input: { readonly a: number; readonly b: number }) {
          const doubled = await ctx.step('double', () => {
            calls += 1;
            return input.a * 2;
          });
          return ctx.step('add', async () => doubled + input.b);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [sum]);
      const handle = await holdfast.submit(sum, { a: 2, b: 3 });
      assert.equal(await handle.result(), 7);
      assert.equal(calls, 1);
      const kinds = (await holdfast.history(handle.id)).map(({ kind, name }) =>
        `${kind} ${name ?? ''}`.trim(),
      );
      assert.deepEqual(kinds, [
        'submitted',
        'claimed',
        'step-completed double',
        'step-completed add',
        'completed',
      ]);
    },
  },
  {
    name: 'history has when each attempt of a step began, and how long it took',
    async run(stage) {
      const first = door();
      const second = door();
      let tries = 0;
      const timed = pipeline({
        name: 'timed',
        async run(ctx) {
          await Promise.all([
            ctx.step('slow', async () => {
              first.open();
              await second.passed;
            }),
            ctx.step(
              'retried',
              async () => {
                await first.passed;
                tries += 1;
                if (tries === 1) throw new Error('again');
                second.open();
              },
              { retry: { initialMs: 1, maxMs: 2 } },
            ),
          ]);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [timed]);
      const handle = await holdfast.submit(timed, undefined);
      await handle.result();
      const events = await holdfast.history(handle.id);
      const claimedAt = events.find(({ kind }) => kind === 'claimed')?.at ?? 0;
      const spans = events
        .filter(({ kind }) => kind.startsWith('step-'))
        .map(({ name, at, body }) => {
          const { startedAt, tookMs } = JSON.parse(body ?? '{}');
          assert.ok(startedAt >= claimedAt && tookMs >= 0 && startedAt <= at, `${name} ${body}`);
          return { name, from: startedAt as number, to: (startedAt + tookMs) as number };
        });
      const of = (wanted: string) => spans.filter(({ name }) => name === wanted);
      assert.equal(of('retried').length, 2, 'each attempt');
      const [slow] = of('slow');
      // It ran while the other was tried twice, though its event comes last.
      for (const each of of('retried')) {
        assert.ok((slow?.from ?? 0) <= each.from + 1 && (slow?.to ?? 0) + 1 >= each.to);
      }
    },
  },
  {
    name: 'steps run at the same time, and map limits how many',
    async run(stage) {
      let running = 0;
      let most = 0;
      const wide = pipeline({
        name: 'wide',
        async run(ctx, items: readonly number[]) {
          const [left, right] = await Promise.all([
            ctx.step('left', () => 'l'),
            ctx.step('right', () => 'r'),
          ]);
          const squares = await ctx.map('square', items, {
            concurrency: 3,
            run: async (item) => {
              running += 1;
              most = Math.max(most, running);
              await new Promise((resolve) => setImmediate(resolve));
              running -= 1;
              return item * item;
            },
          });
          return { left, right, squares };
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [wide]);
      const handle = await holdfast.submit(wide, [1, 2, 3, 4, 5, 6, 7]);
      assert.deepEqual(await handle.result(), {
        left: 'l',
        right: 'r',
        squares: [1, 4, 9, 16, 25, 36, 49],
      });
      assert.equal(most, 3);
    },
  },
  {
    name: 'a step gets a stable key, its fence, its attempt and a signal',
    async run(stage) {
      const seen: { key: string; fence: number; attempt: number }[] = [];
      const keyed = pipeline({
        name: 'keyed',
        async run(ctx) {
          await ctx.step(
            'charge',
            (step) => {
              const { idempotencyKey, fence, attempt, signal } = step;
              assert.equal(signal.aborted, false);
              step.assertHeld(100);
              assert.throws(() => step.assertHeld(3_600_000), { code: 'claim-not-held' });
              seen.push({ key: idempotencyKey, fence, attempt });
              if (attempt === 1) throw new Error('once more');
            },
            { retry: { initialMs: 1 } },
          );
          await ctx.step('charge', ({ idempotencyKey, fence, attempt }) => {
            seen.push({ key: idempotencyKey, fence, attempt });
          });
        },
      });
      // On a busy machine the retry is not near, and a park would end the claim.
      const holdfast = stage.holdfast({ parkAfterMs: 60_000 });
      await stage.worker(holdfast, [keyed]);
      const handle = await holdfast.submit(keyed, undefined);
      await handle.result();
      assert.deepEqual(
        seen.map(({ key, attempt }) => [key, attempt]),
        [
          [`${handle.id}/0/step:charge#1`, 1],
          [`${handle.id}/0/step:charge#1`, 2],
          [`${handle.id}/0/step:charge#2`, 1],
        ],
      );
      assert.equal(new Set(seen.map(({ fence }) => fence)).size, 1);
    },
  },
  {
    name: 'an exception of one execution never stops the worker, awaited or not',
    async run(stage) {
      const bad = pipeline({
        name: 'bad',
        async run(ctx) {
          // The promise is left behind on purpose.
          void ctx.step('floating', () => Promise.reject(new Error('nobody awaits me')), {
            retry: { attempts: 1 },
          });
          await ctx.step('other', () => 1);
          throw new Error('a mistake');
        },
      });
      const good = pipeline({ name: 'good', run: async (ctx) => ctx.step('fine', () => 'fine') });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [bad, good]);
      const failing = await holdfast.submit(bad, undefined);
      await assert.rejects(failing.result(), { name: 'ExecutionFailed', message: /a mistake/ });
      const fine = await holdfast.submit(good, undefined);
      assert.equal(await fine.result(), 'fine');
    },
  },
  {
    name: 'X-45: a step that the code does not await, and calls after it, are recorded before the execution completes',
    async run(stage) {
      const gate = door();
      const careless = pipeline({
        name: 'careless',
        async run(ctx) {
          const later = async (): Promise<void> => {
            await ctx.step('charge', () => gate.passed);
            await ctx.step('then', async () => 'done');
          };
          later().catch(() => undefined);
          const failing = { retry: { attempts: 1 } };
          ctx.step('fails', async () => Promise.reject(new Error('no')), failing).catch(() => 1);
          ctx.receive('never').catch(() => undefined);
          return 'returned';
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [careless]);
      const handle = await holdfast.submit(careless, undefined);
      const named = async (): Promise<readonly string[]> =>
        (await holdfast.history(handle.id)).map(({ kind, name }) => `${kind} ${name ?? ''}`.trim());
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind }) => kind === 'step-failed'),
      );
      assert.equal((await holdfast.read(handle.id))?.status, 'running');
      gate.open();
      assert.equal(await handle.result(), 'returned');
      const history = await named();
      assert.deepEqual(history.slice(-3), [
        'step-completed charge',
        'step-completed then',
        'completed',
      ]);
    },
  },
  {
    name: 'X-45: a cancel while a step still runs cancels an execution whose code has returned',
    async run(stage) {
      const begun = door();
      const careless = pipeline({
        name: 'careless',
        async run(ctx) {
          ctx
            .step('hangs', async ({ signal }) => {
              begun.open();
              await new Promise((_, reject) => {
                signal.addEventListener('abort', () => reject(new Error('stopped')));
              });
            })
            .catch(() => undefined);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [careless]);
      const handle = await holdfast.submit(careless, undefined);
      await begun.passed;
      await holdfast.cancel(handle.id);
      assert.equal((await holdfast.ended(handle.id)).status, 'cancelled');
    },
  },
  {
    name: 'a race has the same winner in every replay',
    async run(stage) {
      const order: string[] = [];
      const gate = door();
      const racing = pipeline({
        name: 'racing',
        async run(ctx) {
          const winner = await Promise.race([
            ctx.step('slow', async () => {
              await new Promise((resolve) => setTimeout(resolve, 30));
              return 'slow';
            }),
            ctx.step('quick', async () => 'quick'),
          ]);
          order.push(winner);
          // Both steps are recorded before the worker dies.
          await ctx.step('wait for both', async () => {
            await new Promise((resolve) => setTimeout(resolve, 60));
          });
          await ctx.step('gate', () => gate.passed);
          return winner;
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [racing]);
      const handle = await holdfast.submit(racing, undefined);
      await stage.until(holdfast, handle.id, () => order.length === 1);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ name }) => name === 'wait for both'),
      );
      await stage.crash(first);
      gate.open();
      await stage.worker(holdfast, [racing]);
      assert.equal(await handle.result(), 'quick');
      assert.deepEqual(order, ['quick', 'quick']);
    },
  },
  {
    name: 'map starts no more items once one has failed for good',
    async run(stage) {
      const begun: number[] = [];
      const failing = pipeline({
        name: 'failing',
        run: (ctx) =>
          ctx.map('item', [0, 1, 2, 3, 4, 5], {
            concurrency: 2,
            retry: { attempts: 1 },
            run: async (item) => {
              begun.push(item);
              await new Promise((resolve) => setTimeout(resolve, item === 0 ? 0 : 60));
              if (item === 0) throw new Error('broken');
            },
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, undefined);
      await assert.rejects(handle.result(), /broken/);
      assert.deepEqual(begun, [0, 1]);
    },
  },
  {
    name: 'two results of one commit reach the code one after the other, first and in every replay',
    async run(stage) {
      const seen: boolean[] = [];
      const together = pipeline({
        name: 'together',
        async run(ctx) {
          const a = ctx.step('a', () => 'a');
          const b = ctx.step('b', () => 'b');
          let bIsDone = false;
          const noted = b.then(() => {
            bIsDone = true;
          });
          await a;
          // A few turns of promises: enough for a second result that came with the first.
          for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
          seen.push(bIsDone);
          await noted;
          await ctx.receive('go');
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [together]);
      const handle = await holdfast.submit(together, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await stage.crash(first);
      await stage.worker(holdfast, [together]);
      await holdfast.signal(handle.id, { name: 'go' });
      await handle.result();
      assert.deepEqual(seen, [false, false]);
    },
  },
  {
    name: 'any thrown value becomes a failure, and the worker goes on',
    async run(stage) {
      const revoked = Proxy.revocable({}, {});
      revoked.revoke();
      const thrown: readonly unknown[] = [
        null,
        undefined,
        Object.create(null),
        revoked.proxy,
        Object.assign(new Error('x'), { message: { body: 1 } }),
        Object.defineProperty(new Error('x'), 'code', {
          get: () => {
            throw new Error('no');
          },
        }),
        Object.assign(new Error('x'), {
          retryAfterMs: Number.POSITIVE_INFINITY,
          category: 'permanent',
        }),
      ];
      const throwing = pipeline({
        name: 'throwing',
        async run(ctx, at: { readonly n: number; readonly where: string }) {
          const options = { retry: { attempts: 1 } };
          if (at.where === 'code') throw thrown[at.n];
          await ctx.step(
            's',
            async () => {
              if (at.where === 'later') await Promise.resolve();
              throw thrown[at.n];
            },
            options,
          );
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [throwing]);
      for (const where of ['code', 'step', 'later']) {
        for (const n of thrown.keys()) {
          const handle = await holdfast.submit(throwing, { n, where });
          await assert.rejects(handle.result(), { name: 'ExecutionFailed' }, `${where} ${n}`);
        }
      }
    },
  },
  {
    name: 'a call of ctx inside a step is refused at its call site',
    async run(stage) {
      const nested = pipeline({
        name: 'nested',
        run: (ctx) =>
          ctx.step(
            'outer',
            async () => {
              await Promise.resolve();
              return ctx.step('inner', () => 1);
            },
            { retry: { attempts: 1 } },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [nested]);
      const handle = await holdfast.submit(nested, undefined);
      await assert.rejects(handle.result(), /step:inner#1 was called inside a step/);
    },
  },
  {
    name: 'an AsyncLocalStorage of the code keeps its value in steps and after them',
    async run(stage) {
      const storage = new AsyncLocalStorage<string>();
      const seen: (string | undefined)[] = [];
      const look = async (): Promise<void> => {
        seen.push(storage.getStore());
        await Promise.resolve();
        seen.push(storage.getStore());
      };
      const keeping = pipeline({
        name: 'keeping',
        run: (ctx) =>
          storage.run('outer', async () => {
            await storage.run('inner', () => ctx.step('one', look));
            await ctx.step('two', look);
            await look();
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [keeping]);
      await (await holdfast.submit(keeping, undefined)).result();
      assert.deepEqual(seen, ['inner', 'inner', 'outer', 'outer', 'outer', 'outer']);
    },
  },
];
