// Executions named by their keys, and keys that are used again.

import assert from 'node:assert/strict';
import { SubmitRefused } from '../../../src/engine/failures.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

const asks = pipeline({
  name: 'asks',
  async run(ctx, n: number) {
    await ctx.attach('note', 'hello');
    const signal = await ctx.receive<string>('go');
    const outcome = await ctx.await<string>('approve');
    return { n, signal, answer: outcome.kind === 'answered' ? outcome.value : outcome.kind };
  },
});

export const KEYS: readonly Behaviour[] = [
  {
    name: 'every call that takes an execution takes its key, within its project',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [asks]);
      // Remote workers claim in the project of their key only.
      const project = 'default';
      const of = { project };
      const named = 'key:order/17';
      const handle = await holdfast.submit(asks, 1, { key: 'order/17', project });
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      assert.equal((await holdfast.read(named, of))?.id, handle.id);
      assert.equal(await holdfast.read(named, { project: 'shop' }), undefined);
      assert.equal((await holdfast.explain(named, of))?.code, 'waiting-for-signal');
      assert.equal((await holdfast.history(named, of))[0]?.kind, 'submitted');
      assert.equal((await holdfast.attachments(named, of))[0]?.name, 'note');
      assert.equal(
        String(Buffer.from((await holdfast.attachment(named, 'note', of)) ?? [])),
        'hello',
      );
      assert.equal((await holdfast.pause(named, of)).kind, 'done');
      assert.equal((await holdfast.resume(named, of)).kind, 'done');
      assert.equal(
        (await holdfast.signal(named, { name: 'go', value: 'now', ...of })).kind,
        'done',
      );
      assert.equal((await holdfast.audit.note(named, { reason: 'seen', ...of })).kind, 'noted');
      const { items } = await holdfast.audit.list({
        project,
        target: { kind: 'execution', id: handle.id },
      });
      assert.deepEqual(
        items.map(({ action }) => action),
        ['note', 'resume', 'pause'],
      );
      const place = { execution: named, name: 'approve' };
      assert.notEqual((await holdfast.awaits.answer(place, 'yes', of)).kind, 'refused');
      const output = { n: 1, signal: 'now', answer: 'yes' };
      assert.deepEqual(await holdfast.result(named, of), output);
      assert.equal((await holdfast.ended(named, of)).id, handle.id);
      const again = await holdfast.repair.redrive(named, { from: 'await:approve#1', ...of });
      assert.equal((await holdfast.read(again.id))?.redriveOf, handle.id);
      // A list by key finds the re-drive too, but the key still names the execution that has it.
      assert.equal((await holdfast.read(named, of))?.id, handle.id);
      await assert.rejects(holdfast.result('key:order/18', of), { code: 'execution-unknown' });
      const elsewhere = { project: 'shop' };
      await assert.rejects(holdfast.result(named, elsewhere), { code: 'execution-unknown' });
      await assert.rejects(holdfast.awaits.answer(place, 'no', elsewhere), {
        code: 'execution-unknown',
      });
    },
  },
  {
    name: 'a key is used again after the end, refused, or taken from an open execution',
    async run(stage) {
      const quick = pipeline({ name: 'quick', run: (_, n: number) => n });
      const slow = pipeline({ name: 'slow', run: (ctx) => ctx.receive('go') });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [quick, slow]);
      const key = 'daily';
      const first = await holdfast.submit(quick, 1, { key, ifKeyTaken: 'reuse' });
      assert.equal(await first.result(), 1);
      const second = await holdfast.submit(quick, 2, { key, ifKeyTaken: 'reuse' });
      assert.equal(await second.result(), 2);
      assert.equal(await holdfast.result('key:daily'), 2);
      await assert.rejects(
        holdfast.submit(quick, 2, { key, ifKeyTaken: 'refuse' }),
        (error: unknown) =>
          error instanceof SubmitRefused &&
          error.refusal.why === 'key-in-use' &&
          error.refusal.id === second.id,
      );
      const open = await holdfast.submit(slow, undefined, { key, ifKeyTaken: 'replace' });
      const joined = await holdfast.submit(slow, undefined, { key, ifKeyTaken: 'reuse' });
      assert.equal(joined.id, open.id);
      const newest = await holdfast.submit(quick, 3, { key, ifKeyTaken: 'replace' });
      await assert.rejects(open.result(), /cancelled/);
      assert.equal(await newest.result(), 3);
    },
  },
  {
    name: 'a pipeline decides what its submits do with a taken key, unless the submit does',
    async run(stage) {
      const sync = pipeline({
        name: 'sync',
        ifKeyTaken: 'reuse',
        run: (ctx) => ctx.receive('go'),
      });
      const holdfast = stage.holdfast({ pipelines: [sync] });
      await stage.worker(holdfast, [sync]);
      const key = 'ann';
      const first = await holdfast.submit(sync, 1, { key });
      const joined = await holdfast.submit('sync', 1, { key });
      assert.deepEqual([joined.id, joined.existing], [first.id, true]);
      await holdfast.signal(first.id, { name: 'go' });
      await first.result();
      const second = await holdfast.submit('sync', 1, { key });
      assert.notEqual(second.id, first.id);
      await assert.rejects(holdfast.submit(sync, 1, { key, ifKeyTaken: 'refuse' }), SubmitRefused);
    },
  },
  {
    name: 'the last submit within a delay runs alone if they replace each other',
    async run(stage) {
      const ran: unknown[] = [];
      const index = pipeline({
        name: 'index',
        ifKeyTaken: 'replace',
        run: (_, version: number) => void ran.push(version),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [index]);
      const handles = [];
      for (const version of [1, 2, 3]) {
        const options = { key: 'page-7', delayMs: version === 3 ? 1 : 600_000 };
        handles.push(await holdfast.submit(index, version, options));
      }
      await handles[2]?.result();
      const statuses = await Promise.all(handles.map(async ({ id }) => await holdfast.read(id)));
      assert.deepEqual(
        statuses.map((execution) => execution?.status),
        ['cancelled', 'cancelled', 'completed'],
      );
      assert.deepEqual(ran, [3]);
    },
  },
  {
    name: 'a signal that the store writes twice after a lost reply arrives once',
    async run(stage) {
      const counts = pipeline({
        name: 'counts',
        async run(ctx) {
          const got: unknown[] = [];
          for (let n = await ctx.receive<number>('n'); n > 0; n = await ctx.receive<number>('n')) {
            got.push(n);
          }
          return got;
        },
      });
      const holdfast = stage.holdfastWith((executions) => ({
        signal: async (request) => {
          await executions.signal(request);
          return executions.signal(request);
        },
        submit: async (request) => {
          await executions.submit(request);
          return executions.submit(request);
        },
      }));
      await stage.worker(stage.holdfast(), [counts]);
      const cart = { key: 'cart', signal: { name: 'n', value: 1 } };
      const { id } = await holdfast.submitOrSignal(counts, undefined, cart);
      await holdfast.signal(id, { name: 'n', value: 2, key: 'two' });
      const again = await holdfast.signal(id, { name: 'n', value: 2, key: 'two' });
      assert.equal(again.kind, 'no-change');
      const more = { ...cart, tags: ['other'], signal: { name: 'n', value: 3 } };
      const joined = await holdfast.submitOrSignal(counts, undefined, more);
      assert.deepEqual([joined.id, joined.existing], [id, true]);
      await holdfast.signal(id, { name: 'n', value: 0 });
      assert.deepEqual(await holdfast.result(id), [1, 2, 3]);
      const ended = await holdfast.submitOrSignal(counts, undefined, more);
      assert.equal(ended.signalled.kind, 'refused');
      const fresh = { ...cart, ifKeyTaken: 'reuse' } as const;
      const next = await holdfast.submitOrSignal(counts, undefined, fresh);
      assert.deepEqual([next.existing, next.id === id], [true, false]);
      await holdfast.signal('key:cart', { name: 'n', value: 0 });
      assert.deepEqual(await holdfast.result(next.id), [1]);
    },
  },
];
