import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, turns } from '../stage.ts';

export const UNDOING: readonly Behaviour[] = [
  {
    name: 'Y-5: the return value of a compensation is ignored, whether it can be stored or not',
    async run(stage) {
      const returned = [10n, () => 1, new Map(), new Response()];
      const careless = pipeline({
        name: 'careless',
        async run(ctx) {
          for (const compensate of returned.map((value) => () => value)) {
            await ctx.step('do', () => undefined, { compensate });
          }
          throw new Error('no stock');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [careless]);
      const handle = await holdfast.submit(careless, undefined);
      await assert.rejects(handle.result(), { status: 'compensated' });
    },
  },
  {
    name: 'Y-4: compensations after a cancel run with a signal that is not aborted',
    async run(stage) {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const wasAborted: boolean[] = [];
      const hanging = pipeline({
        name: 'hanging',
        async run(ctx) {
          const compensate = (_: unknown, { signal }: { readonly signal: AbortSignal }): void => {
            wasAborted.push(signal.aborted);
            signal.throwIfAborted();
          };
          await ctx.step('charge', () => 1, {
            compensate: { run: compensate, retry: { attempts: 1 } },
          });
          await ctx.step('ship', ({ signal }) => {
            begin();
            return new Promise((_, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason));
            });
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [hanging]);
      const handle = await holdfast.submit(hanging, undefined);
      await begun;
      await holdfast.cancel(handle.id);
      await assert.rejects(handle.result(), { status: 'compensated' });
      assert.deepEqual(wasAborted, [false]);
    },
  },
  {
    name: 'Y-3: an execution that starts to compensate before it records a cancel still compensates',
    async run(stage) {
      const gate = door();
      const begun = door();
      const failing = pipeline({
        name: 'failing',
        async run(ctx) {
          const compensate = (): Promise<void> => {
            begun.open();
            return turns();
          };
          await ctx.step('charge', () => 1, { compensate });
          await gate.passed;
          throw new Error('no stock');
        },
      });
      const holdfast = stage.holdfastWith((executions) => ({
        async record(write) {
          if (write.events.some(({ kind }) => kind === 'cancel-requested')) await begun.passed;
          return executions.record(write);
        },
      }));
      await stage.worker(holdfast, [failing]);
      const handle = await holdfast.submit(failing, undefined);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind }) => kind === 'step-completed'),
      );
      assert.equal((await holdfast.cancel(handle.id)).kind, 'forwarded');
      gate.open();
      const { status, holds } = await stage.until(
        holdfast,
        handle.id,
        (now) => now.endedAt !== undefined || now.holds.length > 0,
      );
      assert.deepEqual([status, holds], ['compensated', []]);
    },
  },
  ...['returns', 'fails', 'fails and is taken over'].map(
    (how): Behaviour => ({
      name: `Y-5: a compensation that is skipped while it runs, and then ${how}, blocks nothing`,
      async run(stage) {
        const late = { begun: door(), gate: door(), tries: 0 };
        const last = { begun: door(), gate: door() };
        const stuck = pipeline({
          name: 'stuck',
          async run(ctx) {
            const undoLast = (): Promise<void> => {
              last.begun.open();
              return last.gate.passed;
            };
            const undoLate = async (): Promise<void> => {
              late.tries += 1;
              late.begun.open();
              await late.gate.passed;
              if (how !== 'returns') throw new Error('late');
            };
            await ctx.step('first', () => 1, { compensate: undoLast });
            const retry = { attempts: 2, initialMs: 1 };
            await ctx.step('second', () => 1, { compensate: { run: undoLate, retry } });
            throw new Error('no stock');
          },
        });
        const holdfast = stage.holdfast();
        const worker = await stage.worker(holdfast, [stuck]);
        const handle = await holdfast.submit(stuck, undefined);
        await late.begun.passed;
        const skip = { reason: 'done by hand', actor: 'olga' };
        await holdfast.repair.skipCompensation(handle.id, 'second', skip);
        await last.begun.passed;
        late.gate.open();
        await turns();
        if (how === 'fails and is taken over') {
          await stage.crash(worker);
          await stage.worker(holdfast, [stuck]);
        }
        last.gate.open();
        await assert.rejects(handle.result(), { status: 'compensated' });
        assert.equal(late.tries, 1);
      },
    }),
  ),
  {
    name: 'Y-5: an execution that failed at a forbidden checkpoint compensates, also on the next worker',
    async run(stage) {
      const gate = door();
      let undos = 0;
      const forgetful = pipeline({
        name: 'forgetful',
        async run(ctx) {
          if (ctx.restored !== undefined) return;
          const undo = (): Promise<void> => {
            undos += 1;
            return gate.passed;
          };
          await ctx.step('charge', () => 1, { compensate: undo });
          await ctx.checkpoint({ charged: true });
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [forgetful]);
      const handle = await holdfast.submit(forgetful, undefined);
      await stage.until(holdfast, handle.id, () => undos === 1);
      await stage.crash(first);
      gate.open();
      await stage.worker(holdfast, [forgetful]);
      await assert.rejects(handle.result(), { status: 'compensated' });
      const history = await holdfast.history(handle.id);
      assert.ok(history.every(({ kind }) => kind !== 'checkpointed'));
    },
  },
];
