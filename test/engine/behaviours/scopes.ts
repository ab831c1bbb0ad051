// Cleanups after a cancel, and forced ends.

import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { ExecutionCancelled, type ExecutionFailed } from '../../../src/engine/failures.ts';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

const WITHOUT_RETRY: { readonly attempts: 1 } = { attempts: 1 };

async function namesIn(holdfast: Holdfast, id: string): Promise<readonly string[]> {
  const history = await holdfast.history(id);
  return history.map(({ kind, name }) => (name === undefined ? kind : `${kind} ${name}`));
}

async function parked(stage: Stage, holdfast: Holdfast, name: string): Promise<string> {
  const { id } = await holdfast.submit(name, undefined);
  await stage.until(holdfast, id, ({ status }) => status === 'waiting');
  return id;
}

export const SCOPES: readonly Behaviour[] = [
  {
    name: 'X-116, X-117: waiting code in a scope gets the cancel, and cleans up with recorded steps',
    async run(stage) {
      const thrown: unknown[] = [];
      const reserving = pipeline({
        name: 'reserving',
        run: (ctx) =>
          ctx.scope(
            async () => {
              await ctx.step('reserve', () => 'r1');
              await ctx.receive('paid').catch((error: unknown) => {
                thrown.push(error instanceof ExecutionCancelled);
                throw error;
              });
            },
            {
              async onCancel(cleanup, error) {
                thrown.push(error instanceof ExecutionCancelled, cleanup.signal.aborted);
                await assert.rejects(
                  ctx.step('more', () => 0),
                  ExecutionCancelled,
                );
                await cleanup.step('release', () => undefined);
                await cleanup.receive('go');
                await cleanup.step('release', () => undefined);
              },
            },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [reserving]);
      const id = await parked(stage, holdfast, 'reserving');
      const result = await holdfast.cancel(id, { actor: 'olga', reason: 'typo' });
      assert.equal(result.kind, 'forwarded');
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      // It waits in its cleanup.
      assert.equal((await holdfast.cancel(id)).kind, 'no-change');
      await holdfast.signal(id, { name: 'go' });
      await assert.rejects(holdfast.result(id), { status: 'cancelled' });
      const names = await namesIn(holdfast, id);
      assert.deepEqual(
        names.filter((name) => !/^(claimed|parked|submitted|given-back)/.test(name)),
        [
          'step-completed reserve',
          'cancel-requested',
          'step-completed release',
          'signal-received go',
          'step-completed release',
          'cancelled',
        ],
      );
      assert.deepEqual(thrown.slice(0, 3), [true, true, false]);
    },
  },
  {
    name: 'X-117: another worker continues a cleanup, without repeating its recorded steps',
    async run(stage) {
      const ran: string[] = [];
      const begun = door();
      const cleaning = pipeline({
        name: 'cleaning',
        run: (ctx) =>
          ctx.scope(() => ctx.receive('never'), {
            async onCancel(cleanup) {
              await cleanup.step('first', () => ran.push('first'));
              await cleanup.step('second', async () => {
                ran.push('second');
                if (ran.length > 2) return;
                begun.open();
                await new Promise(() => undefined);
              });
            },
          }),
      });
      const holdfast = stage.holdfast();
      const dying = await stage.worker(stage.holdfast(), [cleaning]);
      const id = await parked(stage, holdfast, 'cleaning');
      assert.equal((await holdfast.cancel(id)).kind, 'forwarded');
      await begun.passed;
      await stage.crash(dying);
      await stage.worker(holdfast, [cleaning]);
      await assert.rejects(holdfast.result(id), { status: 'cancelled' });
      assert.deepEqual(ran, ['first', 'second', 'second']);
    },
  },
  {
    name: 'X-117: the execution ends after all cleanups, and undoes its steps then',
    async run(stage) {
      const ran: string[] = [];
      const part = (ctx: Context, name: string): Promise<unknown> =>
        ctx.scope(() => ctx.receive(name), {
          async onCancel(cleanup) {
            await cleanup.step(`${name} one`, () => ran.push(name));
            await cleanup.step(`${name} two`, () => ran.push(name));
          },
        });
      const parts = pipeline({
        name: 'parts',
        async run(ctx) {
          await ctx.step('book', () => 1, { compensate: () => ran.push('undo') });
          await ctx.scope(() => Promise.all([part(ctx, 'a'), ctx.receive('c'), part(ctx, 'b')]), {
            onCancel: (cleanup) => cleanup.step('outer', () => ran.push('outer')),
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [parts]);
      const id = await parked(stage, holdfast, 'parts');
      assert.equal((await holdfast.cancel(id)).kind, 'forwarded');
      await assert.rejects(holdfast.result(id), { status: 'compensated' });
      assert.deepEqual(ran.toSorted(), ['a', 'a', 'b', 'b', 'outer', 'undo']);
      assert.equal(ran.at(-1), 'undo');
    },
  },
  {
    name: 'X-117: a cleanup that throws or takes too long fails the execution',
    async run(stage) {
      const failing = pipeline({
        name: 'failing',
        run: (ctx, limit: boolean) =>
          ctx.scope(() => ctx.receive('never'), {
            cleanupMs: limit ? 1 : 60_000,
            async onCancel(cleanup) {
              if (limit) await cleanup.receive('never');
              else
                await cleanup.step('release', () => Promise.reject(new Error('down')), {
                  retry: WITHOUT_RETRY,
                });
            },
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      for (const [limit, code] of [
        [false, 'Error'],
        [true, 'cleanup-timed-out'],
      ] as const) {
        const { id } = await holdfast.submit(failing, limit);
        await stage.until(holdfast, id, ({ status }) => status === 'waiting');
        await holdfast.cancel(id);
        await assert.rejects(
          holdfast.result(id),
          (error: ExecutionFailed) => error.status === 'failed' && error.failure?.code === code,
        );
      }
    },
  },
  {
    name: 'X-117: code in a scope may catch the cancel and complete; a re-drive cleans nothing up',
    async run(stage) {
      const catching = pipeline({
        name: 'catching',
        run: (ctx, catches: boolean) =>
          ctx.scope(
            async () => {
              try {
                return await ctx.receive('value');
              } catch (error) {
                if (catches) return 'caught';
                throw error;
              }
            },
            { onCancel: (cleanup) => cleanup.step('release', () => 1) },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [catching]);
      const caught = await holdfast.submit(catching, true);
      await stage.until(holdfast, caught.id, ({ status }) => status === 'waiting');
      await holdfast.cancel(caught.id);
      assert.equal(await caught.result(), 'caught');
      const other = await holdfast.submit(catching, false);
      await stage.until(holdfast, other.id, ({ status }) => status === 'waiting');
      await holdfast.cancel(other.id);
      await assert.rejects(other.result(), { status: 'cancelled' });
      const redriven = await holdfast.repair.redrive(other.id);
      await holdfast.signal(redriven.id, { name: 'value', value: 7 });
      assert.equal(await holdfast.result(redriven.id), 7);
    },
  },
  {
    name: 'X-118: a forced cancel ends a running execution at once, and its worker stops',
    async run(stage) {
      const begun = door();
      const aborted = door();
      const ran: string[] = [];
      const stubborn = pipeline({
        name: 'stubborn',
        run: (ctx) =>
          ctx.scope(
            async () => {
              await ctx.step('book', () => 1, { compensate: () => ran.push('undo') });
              await ctx.step('long', ({ signal }) => {
                signal.addEventListener('abort', () => aborted.open());
                begun.open();
                return new Promise(() => undefined);
              });
            },
            { onCancel: () => ran.push('cleanup') },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [stubborn], { ttlMs: 600 });
      const concurrency = { key: 'one', limit: 1 };
      const handle = await holdfast.submit(stubborn, undefined, { concurrency });
      await begun.passed;
      const result = await holdfast.cancel(handle.id, { force: true, actor: 'olga' });
      assert.deepEqual(result, { kind: 'done', status: 'cancelled' });
      await assert.rejects(handle.result(), { status: 'cancelled' });
      await aborted.passed;
      const last = (await holdfast.history(handle.id)).at(-1);
      assert.deepEqual(JSON.parse(last?.body ?? ''), { by: 'olga', reason: '', forced: true });
      assert.deepEqual(ran, []);
      assert.equal((await holdfast.cancel(handle.id, { force: true })).kind, 'refused');
    },
  },
];
