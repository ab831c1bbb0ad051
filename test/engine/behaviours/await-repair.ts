// Awaits of failed executions: which ones are asked again, and which are not.

import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

/** Asks, sends a notification, and continues with the answer. */
function sending(sent: string[], fails: (time: number) => boolean) {
  return pipeline<undefined, unknown>({
    name: 'sending',
    async run(ctx) {
      const asked = ctx.await<string>('approval');
      await ctx.step(
        'send',
        ({ idempotencyKey }) => {
          sent.push(idempotencyKey);
          if (fails(sent.length)) throw new Error('no route');
        },
        { retry: { attempts: 2, initialMs: 1 } },
      );
      const outcome = await asked;
      return outcome.kind === 'answered' && outcome.value;
    },
  });
}

export const AWAIT_REPAIR: readonly Behaviour[] = [
  {
    name: 'W-1: a question whose sending failed is sent again under the same key, and asked once',
    async run(stage) {
      const sent: string[] = [];
      const asking = sending(sent, (time) => time === 1);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [asking]);
      const { id, result } = await holdfast.submit(asking, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      const { items } = await holdfast.awaits.list({ execution: id });
      assert.deepEqual(
        items.map(({ status }) => status),
        ['open'],
      );
      await holdfast.awaits.answer({ execution: id, name: 'approval' }, 'yes');
      assert.equal(await result(), 'yes');
      assert.deepEqual([sent.length, new Set(sent).size], [2, 1]);
    },
  },
  {
    name: 'Y-20, W-9: a re-drive of an execution that could not send its question asks anew, and the old question is closed',
    async run(stage) {
      const sent: string[] = [];
      const asking = sending(sent, (time) => time <= 2);
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [asking]);
      const { id: old, result } = await holdfast.submit(asking, undefined);
      await assert.rejects(result(), { status: 'failed' });
      const { id } = await holdfast.repair.redrive(old);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      const late = await holdfast.awaits.answer({ execution: old, name: 'approval' }, 'to whom?');
      assert.equal(late.kind === 'refused' && late.why, 'answer-late');
      await holdfast.awaits.answer({ execution: id, name: 'approval' }, 'yes');
      assert.equal(await holdfast.result(id), 'yes');
    },
  },
  {
    name: 'Y-20: a re-drive asks a timed-out await again, and continues with the answer',
    async run(stage) {
      let timeoutMs = 100;
      const patient = pipeline<undefined, unknown>({
        name: 'patient',
        async run(ctx) {
          await ctx.step('prepare', () => 1);
          const outcome = await ctx.await<string>('approval', { timeoutMs });
          if (outcome.kind !== 'answered') throw new Error(`nobody: ${outcome.kind}`);
          return outcome.value;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [patient]);
      const { id: old, result } = await holdfast.submit(patient, undefined);
      await assert.rejects(result(), { status: 'failed', message: /nobody: timed-out/ });
      assert.equal((await holdfast.repair.deadLetter(old))?.reason, 'nobody: timed-out');
      // Early or in time: the timeout has not passed when the answer comes, however slow this
      // machine is.
      timeoutMs = 60_000;
      const { id } = await holdfast.repair.redrive(old);
      const target = { execution: id, name: 'approval' };
      await holdfast.awaits.answer(target, 'yes');
      assert.equal(await holdfast.result(id), 'yes');
      const kinds = (await holdfast.history(id)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === 'step-completed').length, 1, 'it is reused');
      const before = await holdfast.awaits.get({ execution: old, name: 'approval' });
      assert.equal(before?.unit?.status, 'timed-out');
    },
  },
  {
    name: 'W-3: items that were answered in part stay answered through restarts, and so does an empty list',
    async run(stage) {
      const asking = pipeline<readonly string[], unknown>({
        name: 'asking',
        async run(ctx, items) {
          const outcome = await ctx.await<number>('vote', { items });
          await ctx.receive('go');
          return outcome.kind === 'answered' && outcome.values;
        },
      });
      const holdfast = stage.holdfast();
      let worker = await stage.worker(holdfast, [asking]);
      const restart = async (): Promise<void> => {
        await stage.crash(worker);
        worker = await stage.worker(stage.holdfast(), [asking]);
      };
      const three = await holdfast.submit(asking, ['a', 'b', 'c']);
      const none = await holdfast.submit(asking, []);
      for (const { id } of [three, none]) {
        await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      }
      for (const item of [2, 0, 1]) {
        await restart();
        await holdfast.awaits.answer({ execution: three.id, name: 'vote', item }, item * 10);
      }
      await restart();
      for (const { id } of [three, none]) await holdfast.signal(id, { name: 'go' });
      assert.deepEqual(await three.result(), [0, 10, 20]);
      assert.deepEqual(await none.result(), []);
    },
  },
];
