import assert from 'node:assert/strict';
import { pipeline } from '../../../src/index.ts';
import { refusedWith } from '../coordinator.ts';
import type { Case } from './case.ts';

const cart = pipeline({
  name: 'cart',
  queries: ['items'],
  async run(ctx) {
    const items: unknown[] = [];
    ctx.onQuery('items', () => items);
    while (items.length < 1) {
      const update = await ctx.receive('add', { update: true });
      if (update.value === 'none') {
        await update.reject('Nothing to add.');
        continue;
      }
      items.push(update.value);
      await ctx.publish('count', items.length);
      await update.reply({ items: items.length });
    }
    await ctx.receive('end');
  },
});

const talking: Case = {
  name: 'an update gets its reply once, a published value and a query are read, and refusals have their codes',
  async run(coordinator) {
    await coordinator.worker([cart]);
    const { executions } = await coordinator.client(['submit'], 'default');
    const { id } = await executions.submit({ pipeline: 'cart', key: 'cart/1' });
    const add = (value: unknown, key: string) =>
      executions.update('key:cart/1', { name: 'add', value, key, waitMs: 30_000 });
    assert.deepEqual(await executions.update(id, { name: 'other', key: 'o', waitMs: 0 }), {
      ...{ kind: 'pending', key: 'o' },
    });
    const none = { kind: 'rejected', key: 'a', reason: 'Nothing to add.' };
    assert.deepEqual(await add('none', 'a'), none);
    assert.equal(await executions.published(id, 'count'), undefined);
    const waiting = executions.published(id, 'count', { waitMs: 30_000 });
    const one = { kind: 'replied', key: 'b', value: { items: 1 } };
    assert.deepEqual(await add('tent', 'b'), one);
    assert.deepEqual(await add('tent', 'b'), one);
    assert.deepEqual(await waiting, { value: 1 });
    assert.deepEqual(await executions.query(id, 'items'), { value: ['tent'] });
    await assert.rejects(executions.query(id, 'other'), refusedWith('query-unknown'));
    await executions.signal(id, 'end');
    await executions.result(id);
    const ended = { kind: 'unanswered', key: 'o', status: 'completed' };
    assert.deepEqual(await executions.update(id, { name: 'other', key: 'o' }), ended);
    await assert.rejects(executions.update(id, { name: 'add' }), refusedWith('already-ended'));
    await assert.rejects(
      executions.update('key:cart/2', { name: 'add' }),
      refusedWith('execution-unknown'),
    );
  },
};

export const updateCases: readonly Case[] = [talking];
