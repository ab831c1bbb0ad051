import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, pause } from '../stage.ts';
import { asking, kindsOf, waits } from './awaiting.ts';

type Code = (ctx: Context) => Promise<unknown>;

export const AWAIT_RECOVERY: readonly Behaviour[] = [
  {
    name: 'an answer that comes while another step runs is there before the execution parks',
    async run(stage) {
      const gate = door();
      let sent = 0;
      const busy = pipeline({
        name: 'busy',
        async run(ctx) {
          const asked = ctx.await<string>('beside');
          await ctx.step('send', async () => {
            sent += 1;
            await gate.passed;
          });
          const outcome = await asked;
          return outcome.kind === 'answered' && outcome.value;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [busy]);
      const { id, result } = await holdfast.submit(busy, undefined);
      // The await is open although the step has not ended.
      const target = { execution: id, name: 'beside' };
      while ((await holdfast.awaits.get(target)) === undefined) await pause(5);
      assert.equal((await holdfast.read(id))?.status, 'running');
      assert.equal((await holdfast.awaits.answer(target, 'early bird')).kind, 'answered');
      gate.open();
      assert.equal(await result(), 'early bird');
      assert.equal((await kindsOf(holdfast, id)).includes('parked'), false);
      assert.equal(sent, 1);
    },
  },
  {
    name: 'an answer that comes while the execution parks is not missed',
    async run(stage) {
      const eager = pipeline({ name: 'eager await', run: (ctx) => ctx.await<number>('go') });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [eager]);
      for (let round = 0; round < 30; round += 1) {
        const { id, result } = await holdfast.submit(eager, undefined);
        await pause(round % 5);
        await holdfast.awaits.answer({ execution: id, name: 'go' }, round);
        const outcome = await result();
        assert.equal(outcome.kind === 'answered' && outcome.value, round);
      }
    },
  },
  {
    name: 'if the worker dies while it waits, another one continues with the answer',
    async run(stage) {
      let before = 0;
      const waiting = pipeline({
        name: 'waiting',
        async run(ctx) {
          await ctx.step('ask', () => {
            before += 1;
          });
          return ctx.await<string>('answer', { timeoutMs: 60_000 });
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [waiting]);
      const { id, result } = await holdfast.submit(waiting, undefined);
      await waits(stage, holdfast, id);
      await stage.crash(first);
      // No worker is there to wake. The answer still counts, and repeating it is harmless.
      const target = { execution: id, name: 'answer' };
      assert.equal((await holdfast.awaits.answer(target, 'yes')).kind, 'answered');
      assert.equal((await holdfast.awaits.answer(target, 'yes')).kind, 'existing');
      await stage.worker(stage.holdfast(), [waiting]);
      const outcome = await result();
      assert.equal(outcome.kind === 'answered' && outcome.value, 'yes');
      assert.equal(before, 1);
      const settled = (await kindsOf(holdfast, id)).filter((kind) => kind === 'await-settled');
      assert.equal(settled.length, 1);
    },
  },
  {
    name: 'if the worker dies after it opened an await, its successor does not ask again',
    async run(stage) {
      let begun = 0;
      const opened = pipeline({
        name: 'opened',
        async run(ctx) {
          const asked = ctx.await<string>('opened', { timeoutMs: 60_000 });
          await ctx.step('beside', () => {
            begun += 1;
            return begun === 1 ? new Promise<void>(() => undefined) : undefined;
          });
          const outcome = await asked;
          return outcome.kind === 'answered' && outcome.value;
        },
      });
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [opened]);
      const { id, result } = await holdfast.submit(opened, undefined);
      const target = { execution: id, name: 'opened' };
      while ((await holdfast.awaits.get(target)) === undefined) await pause(5);
      await holdfast.awaits.answer(target, 'kept');
      await stage.crash(first);
      await stage.worker(stage.holdfast(), [opened]);
      assert.equal(await result(), 'kept');
      const kinds = await kindsOf(holdfast, id);
      assert.equal(kinds.filter((kind) => kind === 'await-opened').length, 1);
    },
  },
  {
    name: 'two awaits in sequence survive a restart between each answer and its wakeup',
    async run(stage) {
      const ran: string[] = [];
      const sequence = pipeline({
        name: 'sequence',
        async run(ctx) {
          const received: unknown[] = [];
          for (const name of ['first', 'second']) {
            const outcome = await ctx.await<string>(name);
            received.push(outcome.kind === 'answered' ? outcome.value : outcome.kind);
            await ctx.step(name, () => ran.push(name));
          }
          return received;
        },
      });
      const holdfast = stage.holdfast();
      let worker = await stage.worker(holdfast, [sequence]);
      const { id, result } = await holdfast.submit(sequence, undefined);
      for (const name of ['first', 'second']) {
        const target = { execution: id, name };
        while ((await holdfast.awaits.get(target)) === undefined) await pause(5);
        await waits(stage, holdfast, id);
        await stage.crash(worker);
        await holdfast.awaits.answer(target, `${name}!`);
        worker = await stage.worker(holdfast, [sequence]);
      }
      assert.deepEqual(await result(), ['first!', 'second!']);
      assert.deepEqual(ran, ['first', 'second']);
    },
  },
  {
    name: 'W-9: cancelling an execution closes its questions, and a later answer is late',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) => ctx.await('gone'));
      const target = { execution: id, name: 'gone' };
      assert.equal((await holdfast.cancel(id, { actor: 'olga', reason: 'no' })).kind, 'done');
      await assert.rejects(result(), { name: 'ExecutionFailed', status: 'cancelled' });
      const info = await holdfast.awaits.get(target);
      assert.deepEqual([info?.status, info?.unit?.status], ['closed', 'cancelled']);
      const late = await holdfast.awaits.answer(target, 'too late');
      assert.ok(late.kind === 'refused' && late.why === 'answer-late');
      assert.equal((await holdfast.awaits.list({ open: true })).items.length, 0);
    },
  },
  {
    name: 'W-9: an ended execution leaves no question open: the loser of a race, and a continued one',
    async run(stage) {
      const racing = pipeline({
        name: 'racing',
        async run(ctx, rest: readonly string[]) {
          if (rest.length === 0) return 'done';
          const asked = rest.map((name) => ctx.await(name, { timeoutMs: 60_000 }));
          await Promise.race(asked);
          return ctx.continueAsNew([]);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [racing]);
      const { id, result } = await holdfast.submit(racing, ['slow', 'quick']);
      await waits(stage, holdfast, id);
      await holdfast.awaits.answer({ execution: id, name: 'quick' }, 1);
      assert.equal(await result(), 'done');
      const loser = await holdfast.awaits.get({ execution: id, name: 'slow' });
      assert.deepEqual([loser?.status, loser?.unit?.status], ['closed', 'cancelled']);
      assert.equal((await holdfast.awaits.list({ open: true })).items.length, 0);
    },
  },
  {
    name: 'W-9, Y-3: an execution with compensations that waits for an answer compensates when it is cancelled',
    async run(stage) {
      const undone: string[] = [];
      const { holdfast, id, result } = await asking(stage, async (ctx) => {
        await ctx.step('charge', () => 'charged', {
          compensate: (charged) => {
            undone.push(`${charged}`);
          },
        });
        return ctx.await('approval', { timeoutMs: 60_000 });
      });
      const target = { execution: id, name: 'approval' };
      assert.equal((await holdfast.cancel(id, { actor: 'olga' })).kind, 'done');
      await assert.rejects(result(), { name: 'ExecutionFailed', status: 'compensated' });
      assert.deepEqual(undone, ['charged']);
      const info = await holdfast.awaits.get(target);
      assert.deepEqual([info?.status, info?.unit?.status], ['closed', 'cancelled']);
    },
  },
  {
    name: 'a paused execution takes its answer and continues when it is resumed',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) => ctx.await('held'));
      await holdfast.pause(id);
      await holdfast.awaits.answer({ execution: id, name: 'held' }, 'x');
      const held = await stage.until(holdfast, id, ({ status }) => status === 'queued');
      assert.deepEqual(held.holds, ['paused']);
      await holdfast.resume(id);
      assert.equal((await result()).kind, 'answered');
    },
  },
  {
    name: 'code that awaits something else than the open question is blocked, and the right code continues',
    async run(stage) {
      const holdfast = stage.holdfast();
      const name = 'renamed await';
      const original: Code = (ctx) => ctx.await('approval');
      const wrong: readonly Code[] = [
        (ctx) => ctx.await('consent'),
        (ctx) => ctx.receive('approval'),
        async () => 'nothing at all',
      ];
      for (const code of wrong) {
        let worker = await stage.worker(holdfast, [pipeline({ name, run: original })]);
        const { id, result } = await holdfast.submit(name, undefined);
        await waits(stage, holdfast, id);
        await worker.stop();
        worker = await stage.worker(holdfast, [pipeline({ name, run: code })]);
        await holdfast.awaits.answer({ execution: id, name: 'approval' }, 'x');
        await stage.until(holdfast, id, ({ holds }) => holds.includes('blocked'));
        const last = (await holdfast.history(id)).at(-1);
        assert.match(last?.body ?? '', /await:approval#1/);
        await worker.stop();
        worker = await stage.worker(holdfast, [pipeline({ name, run: original })]);
        await holdfast.resume(id);
        assert.equal(((await result()) as { readonly kind: string }).kind, 'answered');
        await worker.stop();
      }
    },
  },
  {
    name: 'after a checkpoint and a crash, occurrences of an await continue their count',
    async run(stage) {
      const looping = pipeline({
        name: 'looping',
        async run(ctx) {
          const received = (ctx.restored as unknown[] | undefined) ?? [];
          while (received.length < 2) {
            await ctx.await('nobody', { items: [] });
            const outcome = await ctx.await<string>('next');
            received.push(outcome.kind === 'answered' ? outcome.value : outcome.kind);
            await ctx.checkpoint(received);
          }
          return received;
        },
      });
      const holdfast = stage.holdfast();
      let worker = await stage.worker(holdfast, [looping]);
      const { id, result } = await holdfast.submit(looping, undefined);
      for (const occurrence of [1, 2]) {
        const target = { execution: id, name: 'next', occurrence };
        while ((await holdfast.awaits.get(target)) === undefined) await pause(5);
        await waits(stage, holdfast, id);
        await stage.crash(worker);
        worker = await stage.worker(holdfast, [looping]);
        await holdfast.awaits.answer(target, `${occurrence}`);
      }
      assert.deepEqual(await result(), ['1', '2']);
    },
  },
];
