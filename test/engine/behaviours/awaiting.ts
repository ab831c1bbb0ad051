import assert from 'node:assert/strict';
import type { Context } from '../../../src/engine/context.ts';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { interactionId } from '../../../src/engine/ids.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour, Stage } from '../stage.ts';

let names = 0;

/** A worker that runs `code`, and an execution of it that waits. */
export async function asking<Output>(
  stage: Stage,
  code: (ctx: Context) => Promise<Output>,
): Promise<{
  readonly holdfast: Holdfast;
  readonly id: string;
  readonly asked: Pipeline<undefined, Output>;
  result(): Promise<Output>;
}> {
  names += 1;
  const asked = pipeline<undefined, Output>({ name: `asking ${names}`, run: code });
  const holdfast = stage.holdfast();
  await stage.worker(holdfast, [asked]);
  const handle = await holdfast.submit(asked, undefined);
  await waits(stage, holdfast, handle.id);
  return { holdfast, asked, ...handle };
}

export async function waits(stage: Stage, holdfast: Holdfast, id: string): Promise<void> {
  await stage.until(holdfast, id, ({ status }) => status === 'waiting');
}

export async function kindsOf(holdfast: Holdfast, id: string): Promise<readonly string[]> {
  return (await holdfast.history(id)).map(({ kind }) => kind);
}

export const AWAITING: readonly Behaviour[] = [
  {
    name: 'X-48: the outcome of an await that needs any of its answers can be returned',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await('offer', { items: ['ann', 'bob'], need: 'any' }),
      );
      await holdfast.awaits.answer({ execution: id, name: 'offer', item: 1 }, 7);
      const outcome = await result();
      assert(outcome.kind === 'answered');
      assert.deepStrictEqual(outcome.values, [undefined, 7]);
    },
  },
  {
    name: 'W-17: at most `limit` questions of a key are open, and the others are asked in turn',
    async run(stage) {
      const limited = pipeline({
        name: 'bank',
        async run(ctx, nth: number) {
          const concurrency = { key: 'bank', limit: 2 };
          const outcome = await ctx.await<string>('sign', { request: nth, concurrency });
          return outcome.kind === 'answered' ? outcome.value : outcome.kind;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [limited]);
      const handles = [];
      for (let nth = 0; nth < 5; nth += 1) {
        const handle = await holdfast.submit(limited, nth);
        await waits(stage, holdfast, handle.id);
        handles.push(handle);
      }
      const queued = async () => {
        const { items } = await holdfast.awaits.list({ queued: true });
        return items.map(({ request }) => request);
      };
      assert.deepEqual(await queued(), [4, 3, 2]);
      const why = await holdfast.explain(handles[4]?.id ?? '');
      assert.equal(why?.code, 'concurrency-limit');
      assert.equal(why?.sentence, 'Question "sign" waits for a slot of concurrency key "bank".');
      for (let round = 0; round < 3; round += 1) {
        const { items } = await holdfast.awaits.list({ open: true });
        assert.ok(items.length <= 2);
        for (const { id, request } of items) await holdfast.awaits.answer(id, `${request}`);
      }
      const signed = await Promise.all(handles.map((handle) => handle.result()));
      assert.deepEqual(signed, ['0', '1', '2', '3', '4']);
    },
  },
  {
    name: 'W-1: an await opens as the execution parks, and its outcome has the answer, actor and time',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await<{ readonly ok: boolean }>('approval', { request: { amount: 7 } }),
      );
      const { items } = await holdfast.awaits.list({ open: true });
      assert.deepEqual(
        items.map(({ execution, item, status, request, unit }) => ({
          ...{ execution, item, status, request, name: unit?.name },
        })),
        [{ execution: id, item: 0, status: 'open', request: { amount: 7 }, name: 'approval' }],
      );
      const target = items[0]?.id ?? '';
      assert.equal(target, interactionId({ execution: id, name: 'approval' }));
      const answered = await holdfast.awaits.answer(target, { ok: true }, { actor: 'olga' });
      assert.deepEqual(answered, { kind: 'answered', settled: true });
      const outcome = await result();
      assert.equal(outcome.kind, 'answered');
      if (outcome.kind !== 'answered') return;
      assert.deepEqual([outcome.value, outcome.actor], [{ ok: true }, 'olga']);
      const info = await holdfast.awaits.get(target);
      assert.equal(info?.answer?.at, outcome.at);
      assert.deepEqual(await kindsOf(holdfast, id), [
        ...['submitted', 'claimed', 'await-opened', 'parked', 'claimed', 'await-settled'],
        'completed',
      ]);
    },
  },
  {
    name: 'W-3: items are answered one by one, in any order, and returned in their own order',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) =>
        ctx.await<string>('vote', { items: ['a', 'b', 'c'], assignee: ['ann', undefined, 'cy'] }),
      );
      const mine = await holdfast.awaits.list({ assignee: 'cy' });
      assert.deepEqual(
        mine.items.map(({ request, item }) => [request, item]),
        [['c', 2]],
      );
      for (const item of [2, 0, 1]) {
        const target = { execution: id, name: 'vote', item };
        const answered = await holdfast.awaits.answer(target, `${item}!`, { actor: `by ${item}` });
        assert.deepEqual(answered, { kind: 'answered', settled: item === 1 });
      }
      const outcome = await result();
      assert.ok(outcome.kind === 'answered');
      const values: readonly string[] = outcome.values;
      assert.deepEqual(values, ['0!', '1!', '2!']);
      assert.deepEqual(
        outcome.answers.map(({ item, actor }) => [item, actor]),
        [
          [0, 'by 0'],
          [1, 'by 1'],
          [2, 'by 2'],
        ],
      );
    },
  },
  {
    name: 'an await of an empty list is answered at once, and recorded',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, async (ctx) => {
        const unserved = await ctx.await('nobody', { items: [] });
        await ctx.receive('go');
        return unserved;
      });
      await holdfast.signal(id, { name: 'go' });
      assert.deepEqual(await result(), { kind: 'answered', values: [], answers: [] });
      const kinds = await kindsOf(holdfast, id);
      assert.equal(kinds.includes('await-opened'), false);
      assert.equal(kinds.filter((kind) => kind === 'await-settled').length, 1);
    },
  },
  {
    name: 'W-3: any-of continues with the first answer, a quorum with enough; the rest is closed',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, async (ctx) => {
        const any = await ctx.await<string>('any', { items: [1, 2, 3], need: 'any' });
        const two = await ctx.await<string>('two', { items: [1, 2, 3], need: 2 });
        return [any, two].map(
          (each) => each.kind === 'answered' && each.values.map((value) => value ?? null),
        );
      });
      const answer = (name: string, item: number) =>
        holdfast.awaits.answer({ execution: id, name, item }, `${name} ${item}`);
      await answer('any', 1);
      await stage.until(holdfast, id, ({ seq, status }) => status === 'waiting' && seq > 4);
      assert.deepEqual(await answer('any', 2), {
        ...{ kind: 'refused', why: 'answer-late', status: 'answered' },
        id: interactionId({ execution: id, name: 'any', item: 2 }),
      });
      assert.deepEqual(await answer('two', 2), { kind: 'answered', settled: false });
      assert.deepEqual(await answer('two', 0), { kind: 'answered', settled: true });
      assert.deepEqual(await result(), [
        [null, 'any 1', null],
        ['two 0', null, 'two 2'],
      ]);
      const closed = await holdfast.awaits.get({ execution: id, name: 'two', item: 1 });
      assert.equal(closed?.status, 'closed');
    },
  },
  {
    name: 'W-2: an answer that comes before the question is kept, and the first stays',
    async run(stage) {
      const early = pipeline({
        name: 'early',
        run: (ctx) => ctx.await<string>('early', { items: ['a', 'b'] }),
      });
      const holdfast = stage.holdfast({ pipelines: [early] });
      const { id, result } = await holdfast.submit(early, undefined);
      const first = { execution: id, name: 'early', item: 1 };
      assert.deepEqual(await holdfast.awaits.answer(first, 'B'), { kind: 'kept', settled: false });
      assert.equal((await holdfast.awaits.answer(first, 'B')).kind, 'existing');
      const other = await holdfast.awaits.answer(first, 'other');
      assert.ok(other.kind === 'refused' && other.why === 'answer-conflict');
      await stage.worker(holdfast, [early]);
      await waits(stage, holdfast, id);
      await holdfast.awaits.answer({ ...first, item: 0 }, 'A');
      const outcome = await result();
      assert.deepEqual(outcome.kind === 'answered' && outcome.values, ['A', 'B']);
    },
  },
  {
    name: 'W-2: if all answers came before, the execution does not wait',
    async run(stage) {
      const early = pipeline({ name: 'all early', run: (ctx) => ctx.await<number>('n') });
      const holdfast = stage.holdfast({ pipelines: [early] });
      const { id, result } = await holdfast.submit(early, undefined);
      await holdfast.awaits.answer({ execution: id, name: 'n' }, 7);
      await stage.worker(holdfast, [early]);
      const outcome = await result();
      assert.equal(outcome.kind === 'answered' && outcome.value, 7);
    },
  },
  {
    name: 'W-4: one answer wins; repeating it is harmless, and another is refused with the winner',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) => ctx.await('one'));
      const target = { execution: id, name: 'one' };
      const many = await Promise.all(
        [1, 2, 3, 4].map((value) =>
          holdfast.awaits.answer(target, { value, same: true }, { actor: `${value}` }),
        ),
      );
      assert.equal(many.filter(({ kind }) => kind === 'answered').length, 1);
      const winner = many.findIndex(({ kind }) => kind === 'answered') + 1;
      for (const refused of many.filter(({ kind }) => kind !== 'answered')) {
        assert.ok(refused.kind === 'refused' && refused.why === 'answer-conflict');
        assert.equal(refused.actor, `${winner}`);
      }
      // A sender may repeat it with its properties in any order.
      const again = await holdfast.awaits.answer(target, { same: true, value: winner });
      assert.deepEqual(again, { kind: 'existing', settled: false });
      const outcome = await result();
      assert.ok(outcome.kind === 'answered');
      assert.deepEqual(outcome.value, { value: winner, same: true });
    },
  },
  {
    name: 'W-4: an answer with a hole in an array equals one with undefined there, not one with null',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, (ctx) => ctx.await('one'));
      const target = { execution: id, name: 'one' };
      await holdfast.awaits.answer(target, new Array(1));
      const other = await holdfast.awaits.answer(target, [null]);
      assert.ok(other.kind === 'refused' && other.why === 'answer-conflict');
      assert.equal((await holdfast.awaits.answer(target, [undefined])).kind, 'existing');
      const outcome = await result();
      assert.deepEqual(outcome.kind === 'answered' && outcome.value, [undefined]);
    },
  },
  {
    name: 'two executions under equal business keys ask different questions',
    without: { 'over REST': 'a worker of a coordinator is of one project' },
    async run(stage) {
      const { holdfast, asked } = await asking(stage, (ctx) => ctx.await('invoice 7'));
      const here = await holdfast.submit(asked, undefined, { key: 'invoice/7', project: 'a' });
      const there = await holdfast.submit(asked, undefined, { key: 'invoice/7', project: 'b' });
      await waits(stage, holdfast, here.id);
      await waits(stage, holdfast, there.id);
      const target = { execution: here.id, name: 'invoice 7' };
      const elsewhere = await holdfast.awaits.answer(target, 'x', { project: 'b' });
      assert.ok(elsewhere.kind === 'refused' && elsewhere.why === 'await-unknown');
      await holdfast.awaits.answer(target, 'mine', { project: 'a' });
      const outcome = await here.result();
      assert.equal(outcome.kind === 'answered' && outcome.value, 'mine');
      assert.equal((await holdfast.read(there.id))?.status, 'waiting');
    },
  },
  {
    name: 'awaits in sequence have their own occurrences, also after a checkpoint',
    async run(stage) {
      const { holdfast, id, result } = await asking(stage, async (ctx) => {
        const received = (ctx.restored as string[] | undefined) ?? [];
        while (received.length < 3) {
          const outcome = await ctx.await<string>('next');
          if (outcome.kind === 'answered') received.push(outcome.value);
          await ctx.checkpoint(received);
        }
        return received;
      });
      for (const occurrence of [1, 2, 3]) {
        const target = { execution: id, name: 'next', occurrence };
        await stage.untilHistory(
          holdfast,
          id,
          (all) => all.filter(({ kind }) => kind === 'await-opened').length === occurrence,
        );
        await holdfast.awaits.answer(target, `${occurrence}`);
      }
      assert.deepEqual(await result(), ['1', '2', '3']);
    },
  },
];
