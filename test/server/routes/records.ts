import assert from 'node:assert/strict';
import { pipeline } from '../../../src/index.ts';
import { until } from '../coordinator.ts';
import type { Case } from './case.ts';

const asks = pipeline({
  name: 'asks',
  async run(ctx) {
    await ctx.await('approval');
  },
});

const operations: Case = {
  name: 'operations are recorded with their actor, and only operators add notes',
  async run(coordinator) {
    await coordinator.worker([asks]);
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const { id } = await client.executions.submit({ pipeline: 'asks' });
    const asked = await until(async () => (await client.awaits.list()).items[0]);
    await client.awaits.assign(asked.id, 'ann');
    await client.executions.cancel(id, 'not wanted any more');
    await client.records.note(id, 'seen');
    const { items } = await client.records.audit();
    const recorded = items.map(({ action, reason }) => `${action} ${reason}`.trim());
    assert.deepEqual(recorded, ['note seen', 'cancel not wanted any more', 'assign-await']);
    assert.equal(new Set(items.map(({ actor }) => actor)).size, 1);
    const of = await client.records.audit({ target: 'execution', targetId: id, action: 'cancel' });
    assert.equal(of.items.length, 1);
    const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
    const within = await client.records.audit({ from: hours(-1), to: hours(1), action: 'cancel' });
    assert.deepEqual(within.items, of.items);
    assert.deepEqual((await client.records.audit({ from: hours(1) })).items, []);
    assert.deepEqual((await client.records.audit({ to: hours(-1), limit: 1 })).items, []);
    const [newest] = items;
    const next = { from: hours(-1), cursor: newest?.id ?? '' };
    assert.deepEqual((await client.records.audit(next)).items, items.slice(1));
    await assert.rejects(client.records.audit({ target: 'execution' }), /belong together/);
    assert.deepEqual(await client.records.refusedWrites(), { items: [] });
    const stranger = await coordinator.client(['submit'], 'default');
    await assert.rejects(stranger.records.audit(), /role operate/);
  },
};

export const recordCases: readonly Case[] = [operations];
