// Code runs ahead: it gets the result of a step while the journal writes it.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { OwnerWrite } from '../../../src/store/contract/execution-store.ts';
import { StoreUnavailable } from '../../../src/support/fault.ts';
import { type Behaviour, door, type Stage, turns } from '../stage.ts';

const THREE = pipeline({
  name: 'three',
  async run(ctx) {
    const one = await ctx.step('one', () => 1);
    const two = await ctx.step('two', async () => one + 1);
    return ctx.step('three', () => two + 1);
  },
});

/** Notes each write as its events, and calls `after` once the store has it. */
function writesOf(
  stage: Stage,
  writes: string[],
  after: (write: OwnerWrite) => void = () => undefined,
): Holdfast {
  const note = (write: OwnerWrite): void => {
    writes.push(write.events.map(({ kind, name }) => name ?? kind).join(' '));
    after(write);
  };
  return stage.holdfastWith((executions) => ({
    async record(request) {
      const reply = await executions.record(request);
      note(request);
      return reply;
    },
    async finish(request) {
      const reply = await executions.finish(request);
      note(request);
      return reply;
    },
  }));
}

/** A Holdfast whose records wait at the gate, and no notice of the store reaches it. */
function gated(stage: Stage, gate: Promise<void>): Holdfast {
  return stage.holdfastWith(
    (executions) => ({
      async record(request) {
        await gate;
        return executions.record(request);
      },
    }),
    { onHint: () => () => undefined },
  );
}

export const RUNNING_AHEAD: readonly Behaviour[] = [
  {
    name: 'X-100: each step is a write, and the last goes with the end',
    async run(stage) {
      const writes: string[] = [];
      const holdfast = writesOf(stage, writes);
      await stage.worker(holdfast, [THREE]);
      assert.equal(await (await holdfast.submit(THREE, undefined)).result(), 3);
      assert.deepEqual(writes, ['one', 'two', 'three completed']);
    },
  },
  {
    name: 'X-100: code has a result before it is durable, and the next step begins only after',
    async run(stage) {
      const [gate, got] = [door(), door()];
      const begun: string[] = [];
      const ahead = pipeline({
        name: 'ahead',
        async run(ctx) {
          await ctx.step('first', () => 1);
          got.open();
          await Promise.all([
            ctx.step('second', () => begun.push('second')),
            ctx.step('third', () => begun.push('third')),
          ]);
        },
      });
      const holdfast = gated(stage, gate.passed);
      await stage.worker(holdfast, [ahead]);
      const handle = await holdfast.submit(ahead, undefined);
      await got.passed;
      await turns();
      assert.deepEqual(begun, []);
      gate.open();
      await handle.result();
      assert.deepEqual(begun, ['second', 'third']);
    },
  },
  {
    name: 'X-100: with runAhead: false, code gets every result after it is durable',
    async run(stage) {
      const durable: string[] = [];
      const seen: string[][] = [];
      const careful = pipeline({
        name: 'careful',
        checkpoint: { every: 'step', runAhead: false },
        async run(ctx) {
          for (const name of ['one', 'two']) {
            await ctx.step(name, () => 1);
            seen.push([...durable]);
          }
        },
      });
      const holdfast = writesOf(stage, durable);
      await stage.worker(holdfast, [careful]);
      await (await holdfast.submit(careful, undefined)).result();
      assert.deepEqual(seen, [['one'], ['one', 'two']]);
      assert.deepEqual(durable, ['one', 'two', 'completed']);
    },
  },
  {
    name: 'X-100: after a crash before the write, the step runs again and nothing after it ran',
    async run(stage) {
      const got = door();
      const ran: string[] = [];
      const lost = pipeline({
        name: 'lost',
        async run(ctx) {
          await ctx.step('first', () => ran.push('first'));
          got.open();
          await ctx.step('second', () => ran.push('second'));
        },
      });
      const first = await stage.worker(gated(stage, new Promise(() => undefined)), [lost]);
      const holdfast = stage.holdfast();
      const handle = await holdfast.submit(lost, undefined);
      await got.passed;
      await stage.crash(first);
      await stage.worker(holdfast, [lost]);
      await handle.result();
      assert.deepEqual(ran, ['first', 'first', 'second']);
    },
  },
  {
    name: 'X-100: a step whose write succeeded without a reply runs once, also the last one',
    async run(stage) {
      const ran: string[] = [];
      const writes: string[] = [];
      const once = pipeline({
        name: 'once',
        async run(ctx) {
          await ctx.step('first', () => ran.push('first'));
          return ctx.step('last', () => ran.push('last'));
        },
      });
      const failed = new Set<number>();
      const holdfast = writesOf(stage, writes, ({ seq }) => {
        if (failed.has(seq)) return;
        failed.add(seq);
        throw new StoreUnavailable('The reply was lost.');
      });
      await stage.worker(holdfast, [once]);
      assert.equal(await (await holdfast.submit(once, undefined)).result(), 2);
      assert.deepEqual(ran, ['first', 'last']);
      // The caller may have the result before the last write is repeated.
      assert.deepEqual(writes.slice(0, 3), ['first', 'first', 'last completed']);
    },
  },
  {
    name: 'X-74, X-101: a cancel that came before the write of the last step ends the execution',
    async run(stage) {
      const [entered, opened] = [door(), door()];
      const last = pipeline({
        name: 'last',
        run: (ctx) =>
          ctx.step('last', async () => {
            entered.open();
            await opened.passed;
          }),
      });
      const holdfast = gated(stage, Promise.resolve());
      await stage.worker(holdfast, [last], { ttlMs: 30_000 });
      const handle = await holdfast.submit(last, undefined);
      await entered.passed;
      assert.equal((await holdfast.cancel(handle.id, { reason: 'typo' })).kind, 'forwarded');
      opened.open();
      await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'cancelled' });
      const kinds = (await holdfast.history(handle.id)).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['submitted', 'claimed', 'step-completed', 'cancelled']);
    },
  },
  {
    name: 'X-101: a signal that the code never receives does not keep it from ending',
    async run(stage) {
      const [entered, opened] = [door(), door()];
      const last = pipeline({
        name: 'last',
        run: (ctx) =>
          ctx.step('last', async () => {
            entered.open();
            await opened.passed;
            return 'done';
          }),
      });
      const holdfast = gated(stage, Promise.resolve());
      await stage.worker(holdfast, [last], { ttlMs: 30_000 });
      const handle = await holdfast.submit(last, undefined);
      await entered.passed;
      await holdfast.signal(handle.id, { name: 'unheard' });
      opened.open();
      assert.equal(await handle.result(), 'done');
    },
  },
  {
    name: 'X-102: ctx.now is after the step, and the same in every replay',
    async run(stage) {
      const seen: number[][] = [];
      const timed = pipeline({
        name: 'timed',
        async run(ctx) {
          const times = [ctx.now().getTime()];
          for (const name of ['one', 'two']) {
            await ctx.step(name, () => new Promise((resolve) => setTimeout(resolve, 5)));
            times.push(ctx.now().getTime());
          }
          seen.push(times);
          await ctx.receive('go');
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [timed]);
      const handle = await holdfast.submit(timed, undefined);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      await stage.crash(first);
      await stage.worker(holdfast, [timed]);
      await holdfast.signal(handle.id, { name: 'go' });
      await handle.result();
      const [[begun = 0, one = 0, two = 0] = [], again] = seen;
      assert.ok(begun < one && one < two, String(seen));
      const ends = (await holdfast.history(handle.id)).filter(
        ({ kind }) => kind === 'step-completed',
      );
      const times = ends.map(({ at, body }) => {
        const { ahead, startedAt, tookMs } = JSON.parse(body ?? '{}');
        return ahead === true ? startedAt + tookMs : at;
      });
      assert.deepEqual([one, two], [times[0], Math.max(one, times[1])]);
      assert.deepEqual(again, seen[0]);
    },
  },
];
