// Commands that reach an execution just when it leaves its worker: pause, resume, cancel and
// continuation.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, type Stage } from '../stage.ts';

interface Round {
  readonly round: number;
}

/** Runs a callback in the last instant before an execution continues as new. */
function atTheEnd(
  stage: Stage,
  happen: (holdfast: Holdfast, id: string) => Promise<void>,
): Holdfast {
  let isLast = false;
  const holdfast = stage.holdfastWith((executions) => ({
    finish: async (request) => {
      if (request.successor !== undefined && !isLast) {
        isLast = true;
        await happen(holdfast, request.id);
      }
      return executions.finish(request);
    },
  }));
  return holdfast;
}

export const ARRIVALS: readonly Behaviour[] = [
  {
    name: 'X-18: a resume wins over a pause that the worker has not acted on yet',
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
      assert.equal((await holdfast.pause(id)).kind, 'forwarded');
      assert.equal((await holdfast.resume(id)).kind, 'forwarded');
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
      assert.deepEqual(answers, ['forwarded']);
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
    name: 'X-18: a running execution that was paused and resumed can be paused again',
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
  {
    name: 'X-14: signals that were not received go to the successor',
    async run(stage) {
      const collecting = pipeline({
        name: 'collecting',
        async run(ctx, { round }: Round): Promise<readonly string[]> {
          if (round === 0) {
            const first = await ctx.receive<string>('item');
            await ctx.step('keep', () => first);
            ctx.continueAsNew({ round: 1 });
          }
          return [await ctx.receive<string>('item'), await ctx.receive<string>('item')];
        },
      });
      const holdfast = atTheEnd(stage, async (own, id) => {
        assert.equal((await own.signal(id, { name: 'item', value: 'c' })).kind, 'forwarded');
      });
      const { id, result } = await holdfast.submit(collecting, { round: 0 });
      await holdfast.signal(id, { name: 'item', value: 'a' });
      await holdfast.signal(id, { name: 'item', value: 'b' });
      await stage.worker(holdfast, [collecting]);
      assert.deepEqual(await result(), ['b', 'c']);
      assert.equal((await holdfast.signal(id, { name: 'item', value: 'd' })).kind, 'refused');
    },
  },
  {
    name: 'X-14: a signal that came too late for a waiting receive goes to the successor',
    async run(stage) {
      const racing = pipeline({
        name: 'racing',
        async run(ctx, { round }: Round): Promise<string> {
          if (round === 1) return ctx.receive<string>('item');
          const late = ctx.receive<string>('item').then(() => 'signal');
          const winner = await Promise.race([late, ctx.step('first', () => 'step')]);
          assert.equal(winner, 'step');
          return ctx.continueAsNew({ round: 1 });
        },
      });
      // The message arrives with the answer to the step's record, so the worker reads it before the
      // code ends.
      let isSent = false;
      const holdfast = stage.holdfastWith((executions) => ({
        record: async (request) => {
          const isStep = request.events.some(({ name }) => name === 'first');
          if (isStep && !isSent) {
            isSent = true;
            await holdfast.signal(request.id, { name: 'item', value: 'late' });
          }
          return executions.record(request);
        },
      }));
      await stage.worker(holdfast, [racing]);
      const { result } = await holdfast.submit(racing, { round: 0 });
      assert.equal(await result(), 'late');
    },
  },
  {
    name: 'X-14: a signal that came too late goes to the successor also if its worker died meanwhile',
    async run(stage) {
      const racing = pipeline({
        name: 'racing',
        async run(ctx, { round }: Round): Promise<string> {
          if (round === 1) return ctx.receive<string>('item');
          const late = ctx.receive<string>('item').then(() => 'signal');
          await Promise.race([late, ctx.step('first', () => 'step')]);
          await ctx.step('second', () => undefined);
          return ctx.continueAsNew({ round: 1 });
        },
      });
      const reached = door();
      let isFirst = true;
      const holdfast = stage.holdfastWith((executions) => ({
        record: async (request) => {
          const isLast = request.events.some(({ name }) => name === 'second');
          const answer = await executions.record(request);
          // A separate write, after the step that the code continues with.
          if (isLast && isFirst) await holdfast.signal(request.id, { name: 'item', value: 'late' });
          return isLast && answer.kind === 'recorded' ? { ...answer, inboxCount: 1 } : answer;
        },
        finish: async (request) => {
          if (!isFirst) return executions.finish(request);
          isFirst = false;
          reached.open();
          return new Promise<never>(() => undefined);
        },
      }));
      const first = await stage.worker(holdfast, [racing]);
      const { id, result } = await holdfast.submit(racing, { round: 0 });
      await reached.passed;
      const kinds = (await holdfast.history(id)).map(({ kind }) => kind);
      assert.equal(kinds.at(-1), 'signal-received', kinds.join());
      await stage.crash(first);
      await stage.worker(holdfast, [racing]);
      assert.equal(await result(), 'late');
    },
  },
  {
    name: 'X-17: a cancel in the last instant before a continuation cancels the successor',
    async run(stage) {
      const looping = pipeline({
        name: 'looping',
        async run(ctx, { round }: Round): Promise<void> {
          await ctx.step('work', () => round);
          ctx.continueAsNew({ round: round + 1 });
        },
      });
      const holdfast = atTheEnd(stage, async (own, id) => {
        assert.equal((await own.cancel(id, { actor: 'olga' })).kind, 'forwarded');
      });
      await stage.worker(holdfast, [looping]);
      const { result } = await holdfast.submit(looping, { round: 0 });
      await assert.rejects(result(), { status: 'cancelled' });
    },
  },
  {
    name: 'X-17: a cancel is not lost while code runs that only continues as new',
    async run(stage) {
      const { passed, open } = door();
      const looping = pipeline({
        name: 'looping',
        async run(ctx, { round }: Round): Promise<void> {
          await ctx.step('work', () => round);
          await passed;
          ctx.continueAsNew({ round: round + 1 });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [looping]);
      const { id, result } = await holdfast.submit(looping, { round: 0 });
      await stage.untilHistory(holdfast, id, (events) =>
        events.some(({ kind }) => kind === 'step-completed'),
      );
      assert.equal((await holdfast.cancel(id)).kind, 'forwarded');
      open();
      await assert.rejects(result(), { status: 'cancelled' });
    },
  },
  {
    name: 'X-18: a pause that was read before the code ended takes effect',
    async run(stage) {
      const { passed, open } = door();
      const looping = pipeline({
        name: 'looping',
        async run(ctx, { round }: Round): Promise<number> {
          await ctx.step('work', () => (round === 0 ? passed : undefined));
          return round === 0 ? ctx.continueAsNew({ round: 1 }) : round;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [looping]);
      const { id, result } = await holdfast.submit(looping, { round: 0 });
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      await holdfast.pause(id);
      open();
      await stage.until(holdfast, id, ({ status }) => status === 'completed');
      const [next] = (await holdfast.list({ pipeline: 'looping' })).items;
      assert(next !== undefined && next.id !== id);
      await stage.until(holdfast, next.id, ({ holds }) => holds.includes('paused'));
      await holdfast.resume(next.id);
      assert.equal(await result(), 1);
    },
  },
  {
    name: 'X-18: a pause goes to the successor of a continued execution',
    async run(stage) {
      const looping = pipeline({
        name: 'looping',
        async run(ctx, { round }: Round): Promise<number> {
          await ctx.step('work', () => round);
          return round === 0 ? ctx.continueAsNew({ round: 1 }) : round;
        },
      });
      const holdfast = atTheEnd(stage, async (own, id) => {
        assert.equal((await own.pause(id)).kind, 'forwarded');
      });
      await stage.worker(holdfast, [looping]);
      const { id, result } = await holdfast.submit(looping, { round: 0 });
      await stage.until(holdfast, id, ({ status }) => status === 'completed');
      const [next] = (await holdfast.list({ pipeline: 'looping' })).items;
      assert(next !== undefined && next.id !== id);
      await stage.until(holdfast, next.id, ({ holds }) => holds.includes('paused'));
      await holdfast.resume(next.id);
      assert.equal(await result(), 1);
    },
  },
];
