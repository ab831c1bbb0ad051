import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Schema } from '../../../src/engine/values/schema.ts';
import { OutcomeUnknown } from '../../../src/support/fault.ts';
import { type Behaviour, door } from '../stage.ts';

const item: Schema<string> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'must be text' }] },
  },
};

/** Adds items by updates, rejects an item that it has, and ends with the signal `end`. */
const cart = pipeline({
  name: 'cart',
  messages: { add: item, note: item },
  async run(ctx) {
    const items: string[] = [];
    const end = ctx.receive('end').then(() => undefined);
    for (;;) {
      const update = await Promise.race([ctx.receive<string>('add', { update: true }), end]);
      if (update === undefined) return items;
      if (items.includes(update.value)) {
        await update.reject('It is there.');
        continue;
      }
      items.push(await ctx.step('keep', () => update.value));
      await update.reply({ items: items.length });
    }
  },
});

export const UPDATES: readonly Behaviour[] = [
  {
    name: 'X-128: an update gets its reply once for each key, also from a parked execution and after a crash',
    async run(stage) {
      const holdfast = stage.holdfast();
      const first = await stage.worker(holdfast, [cart]);
      const { id } = await holdfast.submit(cart, undefined);
      const add = (value: string, key: string) => holdfast.update(id, { name: 'add', value, key });
      const tent = { kind: 'replied', key: 'a', value: { items: 1 } };
      assert.deepEqual(await add('tent', 'a'), tent);
      assert.deepEqual(await add('tent', 'a'), tent);
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await stage.crash(first);
      await stage.worker(holdfast, [cart]);
      const stove = { kind: 'replied', key: 'b', value: { items: 2 } };
      assert.deepEqual(await add('stove', 'b'), stove);
      const again = await add('tent', 'c');
      assert.deepEqual(again, { kind: 'rejected', key: 'c', reason: 'It is there.' });
      await holdfast.signal(id, { name: 'end' });
      assert.deepEqual(await holdfast.result(id), ['tent', 'stove']);
      assert.deepEqual(await add('tent', 'a'), tent);
      const late = await add('rope', 'd');
      assert.equal(late.kind === 'refused' && late.why, 'already-ended');
      assert.deepEqual(await holdfast.attachments(id), []);
    },
  },
  {
    name: 'X-128: an update without a reply is pending, and unanswered once the execution has ended',
    async run(stage) {
      const holdfast = stage.holdfast();
      const deaf = pipeline({ name: 'deaf', run: (ctx) => ctx.receive('end') });
      await stage.worker(holdfast, [deaf]);
      const { id } = await holdfast.submit(deaf, undefined);
      const given = { name: 'add', value: 1, key: 'a', timeoutMs: 1 };
      assert.deepEqual(await holdfast.update(id, given), { kind: 'pending', key: 'a' });
      await holdfast.signal(id, { name: 'end' });
      await holdfast.result(id);
      const ended = { kind: 'unanswered', key: 'a', status: 'completed' };
      assert.deepEqual(await holdfast.update(id, given), ended);
    },
  },
  {
    name: 'X-128: an update that the code has not received goes to the execution that continues it',
    async run(stage) {
      const holdfast = stage.holdfast();
      const turning = pipeline({
        name: 'turning',
        async run(ctx, turn: number) {
          if (turn === 1) {
            await ctx.receive('turn');
            ctx.continueAsNew(2);
          }
          const update = await ctx.receive('add', { update: true });
          await update.reply(turn);
        },
      });
      await stage.worker(holdfast, [turning]);
      const { id } = await holdfast.submit(turning, 1);
      const result = holdfast.update(id, { name: 'add', key: 'a' });
      await stage.until(holdfast, id, ({ inboxCount }) => inboxCount === 1);
      await holdfast.signal(id, { name: 'turn' });
      assert.deepEqual(await result, { kind: 'replied', key: 'a', value: 2 });
    },
  },
  {
    name: 'X-128: an update and a signal with the same key both arrive',
    async run(stage) {
      const holdfast = stage.holdfast();
      const both = pipeline({
        name: 'both',
        async run(ctx) {
          const signal = await ctx.receive<string>('note');
          const update = await ctx.receive<string>('add', { update: true });
          await update.reply(`${signal} ${update.value}`);
        },
      });
      await stage.worker(holdfast, [both]);
      const { id } = await holdfast.submit(both, undefined);
      await holdfast.signal(id, { name: 'note', value: 'tent', key: 'a' });
      const result = await holdfast.update(id, { name: 'add', value: 'stove', key: 'a' });
      assert.deepEqual(result, { kind: 'replied', key: 'a', value: 'tent stove' });
    },
  },
  {
    name: 'X-128: a reply whose record was lost is written once, and a second reply is refused',
    async run(stage) {
      let replies = 0;
      const once = pipeline({
        name: 'once',
        async run(ctx) {
          const update = await ctx.receive('ask', { update: true });
          await update.reply('first');
          try {
            await update.reject('second');
            return 'replied twice';
          } catch (error) {
            return (error as Error).name;
          }
        },
      });
      const lossy = stage.holdfastWith((executions) => ({
        async record(request) {
          const recorded = await executions.record(request);
          if (request.attachments === undefined) return recorded;
          replies += 1;
          if (replies === 1) throw new OutcomeUnknown('the reply is lost');
          return recorded;
        },
      }));
      await stage.worker(lossy, [once]);
      const { id } = await lossy.submit(once, undefined);
      const result = await lossy.update(id, { name: 'ask', key: 'a' });
      assert.deepEqual(result, { kind: 'replied', key: 'a', value: 'first' });
      assert.equal(await lossy.result(id), 'InvalidInput');
      assert.equal(replies, 2);
    },
  },
  {
    name: 'X-129: a message that the schema refuses is not written, and one from elsewhere is not received',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [cart]);
      const { id } = await holdfast.submit(cart, undefined);
      const odd = { name: 'add', value: 17 };
      await assert.rejects(holdfast.update(id, odd), /must be text/);
      await assert.rejects(holdfast.signal(id, { name: 'note', value: 17 }), /must be text/);
      assert.equal((await holdfast.read(id))?.inboxCount, 0);
      const elsewhere = stage.holdfast();
      await elsewhere.signal(id, { name: 'note', value: 17 });
      const result = await elsewhere.update(id, { ...odd, key: 'a' });
      assert.ok(result.kind === 'rejected' && /must be text/.test(result.reason));
      const again = await elsewhere.update(id, { ...odd, key: 'a' });
      assert.deepEqual(again, result);
      const next = await elsewhere.update(id, { name: 'add', value: 'tent', key: 'b' });
      assert.equal(next.kind, 'replied');
      const received = (await holdfast.history(id)).filter(
        ({ kind }) => kind === 'signal-received',
      );
      assert.equal(received.length, 1);
    },
  },
  {
    name: 'X-127: a published value can be read and waited for; the last one wins, also after the end',
    async run(stage) {
      const holdfast = stage.holdfast();
      const packing = pipeline({
        name: 'packing',
        async run(ctx) {
          await ctx.receive('go');
          await ctx.publish('status', { packed: 1 });
          await ctx.publish('status', { packed: 2 });
        },
      });
      await stage.worker(holdfast, [packing]);
      const { id } = await holdfast.submit(packing, undefined, { key: 'p/1' });
      assert.equal(await holdfast.published(id, 'status'), undefined);
      const waiting = holdfast.published('key:p/1', 'status', { timeoutMs: 60_000 });
      const other = holdfast.published(id, 'other', { timeoutMs: 60_000 });
      await holdfast.signal(id, { name: 'go' });
      assert.ok([1, 2].includes(((await waiting) as { packed: number }).packed));
      assert.equal(await other, undefined);
      assert.deepEqual(await holdfast.published(id, 'status'), { packed: 2 });
    },
  },
  {
    name: 'X-127: a replaced worker publishes nothing',
    async run(stage) {
      const reached = door();
      const passed = door();
      const packing = pipeline({
        name: 'packing',
        async run(ctx) {
          const who = await ctx.step('who', () => 'new');
          await ctx.publish('owner', who);
          return who;
        },
      });
      const slow = stage.holdfastWith((executions) => ({
        async record(request) {
          if (request.attachments !== undefined) {
            reached.open();
            await passed.passed;
          }
          return executions.record(request);
        },
      }));
      const first = await stage.worker(slow, [packing]);
      const holdfast = stage.holdfast();
      const { id } = await holdfast.submit(packing, undefined);
      await reached.passed;
      await stage.crash(first);
      await stage.worker(holdfast, [packing]);
      await holdfast.result(id);
      const before = await holdfast.history(id);
      passed.open();
      await holdfast.published(id, 'owner');
      assert.deepEqual(await holdfast.history(id), before);
    },
  },
  {
    name: 'X-130: a query reads the state of a waiting and of an ended execution, and writes nothing',
    async run(stage) {
      let steps = 0;
      const counting = pipeline({
        name: 'counting',
        queries: ['count', 'late'],
        async run(ctx) {
          const items: unknown[] = [];
          ctx.onQuery('count', (factor: number) => items.length * factor);
          for (const name of ['one', 'two']) {
            items.push(await ctx.receive(name));
            await ctx.step('keep', () => {
              steps += 1;
            });
          }
          ctx.onQuery('late', async () => 'a promise');
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [counting]);
      const { id } = await holdfast.submit(counting, undefined, { key: 'c/1' });
      const count = () => holdfast.query('key:c/1', { name: 'count', value: 10 });
      assert.equal(await count(), 0);
      await holdfast.signal(id, { name: 'one' });
      await stage.until(holdfast, id, ({ status, seq }) => status === 'waiting' && seq > 4);
      const before = await holdfast.history(id);
      assert.equal(await count(), 10);
      await assert.rejects(holdfast.query(id, { name: 'late' }), { code: 'query-unknown' });
      assert.deepEqual([await holdfast.history(id), steps], [before, 1]);
      await holdfast.signal(id, { name: 'two' });
      await holdfast.result(id);
      assert.deepEqual([await count(), steps], [20, 2]);
      await assert.rejects(holdfast.query(id, { name: 'late' }), { code: 'query-failed' });
      const elsewhere = stage.holdfast();
      await assert.rejects(elsewhere.query(id, { name: 'count' }), { code: 'no-worker' });
      const asking = stage.holdfast({ relayAnswersMs: 60_000 });
      assert.equal(await asking.query(id, { name: 'count', value: 3 }), 6);
    },
  },
  {
    name: 'X-130: a query begins no step, also not one that a worker runs',
    async run(stage) {
      let begun = 0;
      const end = door();
      const working = pipeline({
        name: 'working',
        queries: ['begun'],
        run(ctx) {
          ctx.onQuery('begun', () => begun);
          return ctx.step('work', () => {
            begun += 1;
            return end.passed;
          });
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [working]);
      const { id } = await holdfast.submit(working, undefined);
      await stage.until(holdfast, id, () => begun === 1);
      assert.equal(await holdfast.query(id, { name: 'begun' }), 1);
      end.open();
      await holdfast.result(id);
      assert.equal(begun, 1);
    },
  },
];
