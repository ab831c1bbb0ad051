import assert from 'node:assert/strict';
import { interactionId } from '../../../src/engine/ids.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Behaviour, door, pause } from '../stage.ts';
import { asking, kindsOf, waits } from './awaiting.ts';

/** On a slow store. */
const SLOW_MS = 600;

export const AWAIT_TIMES: readonly Behaviour[] = [
  {
    name: 'W-6: without an answer in time the code takes another branch, and a later answer is late',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await('slow', { timeoutMs: 150 }),
      );
      assert.deepEqual(await result(), { kind: 'timed-out' });
      const target = interactionId({ execution: id, name: 'slow' });
      const late = await holdfast.awaits.answer(target, 'sorry', { actor: 'ann' });
      assert.deepEqual(late, {
        ...{ kind: 'refused', why: 'answer-late', id: target, status: 'timed-out' },
      });
      const kept = await holdfast.awaits.lateAnswers(target);
      assert.deepEqual(
        kept.map(({ value, actor }) => [value, actor]),
        [['sorry', 'ann']],
      );
      assert.equal((await holdfast.awaits.get(target))?.late, 1);
    },
  },
  {
    name: 'W-6: a default stands for missing answers',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, async (ctx) => {
        const [one, many] = await Promise.all([
          ctx.await('one', { timeoutMs: 1_000, default: { ok: false } }),
          ctx.await('many', { items: [1, 2], timeoutMs: 1_000, default: 'none' }),
        ]);
        return { one, many };
      });
      await holdfast.awaits.answer({ execution: id, name: 'many', item: 1 }, 'some');
      const { one, many } = await result();
      assert.ok(one.kind === 'answered' && many.kind === 'answered');
      assert.deepEqual([one.value, one.byDefault, one.actor], [{ ok: false }, true, undefined]);
      assert.deepEqual([many.values, many.byDefault], [['none', 'some'], true]);
      assert.deepEqual(
        many.answers.map(({ item }) => item),
        [1],
      );
    },
  },
  {
    name: 'the outcome of a timeout has the answers that came in time',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await<string>('both', { items: [1, 2], timeoutMs: 1_000 }),
      );
      await holdfast.awaits.answer({ execution: id, name: 'both', item: 1 }, 'here');
      const outcome = await result();
      assert.equal(outcome.kind, 'timed-out');
      assert.deepEqual(
        outcome.answers.map(({ item, value }) => [item, value]),
        [[1, 'here']],
      );
    },
  },
  {
    name: 'a short timeout is waited for in memory, and an answer meanwhile is noticed',
    async run(stage) {
      const holdfast = stage.holdfast({ parkAfterMs: 60_000 });
      const short = pipeline({
        name: 'short',
        run: (ctx) => ctx.await<string>('short', { timeoutMs: 1_500 }),
      });
      await stage.worker(holdfast, [short]);
      const answered = await holdfast.submit(short, undefined);
      const silent = await holdfast.submit(short, undefined);
      const isOpen = async (id: string) =>
        stage.untilHistory(holdfast, id, (all) => all.some(({ kind }) => kind === 'await-opened'));
      await isOpen(answered.id);
      await holdfast.awaits.answer({ execution: answered.id, name: 'short' }, 'quick');
      const outcome = await answered.result();
      assert.equal(outcome.kind === 'answered' && outcome.value, 'quick');
      assert.deepEqual(await silent.result(), { kind: 'timed-out' });
      assert.equal((await kindsOf(holdfast, silent.id)).includes('parked'), false);
    },
  },
  {
    name: 'W-8: a timeout is put off or brought forward, and the old time has no effect',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await<string>('more', { timeoutMs: 1_000 }),
      );
      const target = { execution: id, name: 'more' };
      const before = await holdfast.awaits.get(target);
      assert.deepEqual(await holdfast.awaits.extend(target, { timeoutMs: 60_000 }), {
        kind: 'done',
      });
      const after = await holdfast.awaits.get(target);
      assert.ok((after?.unit?.dueAt ?? 0) > (before?.unit?.dueAt ?? 0) + 50_000);
      // The execution wakes at the old timeout, learns the new one, and parks again.
      const parks = (all: readonly { readonly kind: string }[]) =>
        all.filter(({ kind }) => kind === 'parked').length;
      await stage.untilHistory(holdfast, id, (all) => parks(all) === 2);
      await holdfast.awaits.answer(target, 'after all');
      const outcome = await result();
      assert.equal(outcome.kind === 'answered' && outcome.value, 'after all');
      const settled = await holdfast.awaits.extend(target, { timeoutMs: 1 });
      assert.ok(settled.kind === 'refused' && settled.why === 'await-settled');
    },
  },
  {
    name: 'W-8: a timeout can be added to an await and removed from it',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) => ctx.await('ends'));
      const target = { execution: id, name: 'ends' };
      await holdfast.awaits.extend(target, { timeoutMs: 60_000 });
      await holdfast.awaits.extend(target, { timeoutMs: 'none' });
      assert.equal((await holdfast.awaits.get(target))?.unit?.dueAt, undefined);
      await holdfast.awaits.extend(target, { timeoutMs: 30 });
      assert.deepEqual(await result(), { kind: 'timed-out' });
    },
  },
  {
    name: 'W-8: a question is assigned to another person, and unassigned',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await('whose', { assignee: 'ann' }),
      );
      const target = { execution: id, name: 'whose' };
      const of = async (assignee: string) => {
        const { items } = await holdfast.awaits.list({ assignee, open: true });
        return items.length;
      };
      assert.deepEqual([await of('ann'), await of('bob')], [1, 0]);
      await holdfast.awaits.assign(target, 'bob');
      assert.deepEqual([await of('ann'), await of('bob')], [0, 1]);
      await holdfast.awaits.assign(target, undefined);
      assert.deepEqual([await of('ann'), await of('bob')], [0, 0]);
      await holdfast.awaits.answer(target, 'done');
      await result();
      const late = await holdfast.awaits.assign(target, 'cy');
      assert.ok(late.kind === 'refused' && late.why === 'await-settled');
    },
  },
  {
    name: 'W-8: a caller cancels the await, and the code continues with the outcome cancelled',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) => ctx.await('no more'));
      const target = { execution: id, name: 'no more' };
      assert.deepEqual(await holdfast.awaits.cancel(target), { kind: 'done' });
      assert.deepEqual(await result(), { kind: 'cancelled' });
      const unknown = await holdfast.awaits.cancel({ execution: id, name: 'never asked' });
      assert.ok(unknown.kind === 'refused' && unknown.why === 'await-unknown');
    },
  },
  {
    name: 'W-6: a reminder that is due before its await is stored starts when the await is stored',
    async run(stage) {
      // The worker looks meanwhile, and finds nothing.
      const holdfast = stage.holdfastWith(({ park }) => ({
        park: async (request) => {
          await pause(SLOW_MS);
          return park(request);
        },
      }));
      const { passed: reminded, open: reminds } = door();
      const remind = pipeline({ name: 'remind', run: () => reminds() });
      const soon = pipeline({
        name: 'soon',
        run: (ctx) => ctx.await('soon', { reminders: [{ afterMs: 1, pipeline: remind }] }),
      });
      await stage.worker(holdfast, [soon, remind]);
      await holdfast.submit(soon, undefined);
      await reminded;
    },
  },
  {
    name: 'W-6: reminders and escalations start pipelines while the await is open, each once',
    async run(stage) {
      const notified: string[] = [];
      const remind = pipeline({
        name: 'remind',
        run: (ctx, who: string) =>
          ctx.step('tell', () => {
            notified.push(who);
          }),
      });
      const patient = pipeline({
        name: 'patient',
        run: (ctx) =>
          ctx.await('patient', {
            reminders: [
              { afterMs: 40, pipeline: remind, input: 'ann' },
              { afterMs: 3_600_000, pipeline: remind, input: 'never' },
            ],
            escalations: [{ afterMs: 400, pipeline: 'remind', input: 'her boss' }],
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [patient, remind]);
      const { id, result } = await holdfast.submit(patient, undefined);
      await waits(stage, holdfast, id);
      while (notified.length < 2) await pause(5);
      assert.deepEqual(notified, ['ann', 'her boss']);
      const reminders = await holdfast.list({ attribute: { name: 'reminder', equals: id } });
      const escalations = await holdfast.list({ attribute: { name: 'escalation', equals: id } });
      assert.deepEqual([reminders.items.length, escalations.items.length], [1, 1]);
      assert.equal((await holdfast.read(id))?.status, 'waiting', 'they do not wake it');
      await holdfast.awaits.answer({ execution: id, name: 'patient' }, 'yes');
      const outcome = await result();
      assert.equal(outcome.kind, 'answered');
    },
  },
];
