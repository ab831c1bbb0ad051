import assert from 'node:assert/strict';
import { pipeline } from '../../../src/index.ts';
import { nameIn, refusedWith, until } from '../coordinator.ts';
import type { Case } from './case.ts';

const echo = pipeline({ name: 'echo', run: (_, input: unknown) => input });

const templates: Case = {
  name: 'templates are put, read and listed by version, and submitted by id',
  async run(coordinator) {
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const body = { pipeline: 'echo', defaults: { a: 1, b: 2 }, tags: ['made'] };
    assert.deepEqual(await client.templates.put('orders/eu', 1, body), { existing: false });
    assert.deepEqual(await client.templates.put('orders/eu', 1, body), { existing: true });
    await assert.rejects(
      client.templates.put('orders/eu', 1, { ...body, defaults: {} }),
      refusedWith('template-conflict', 409),
    );
    await client.templates.put('orders/eu', 2, { pipeline: 'echo', defaults: { a: 3 } });
    const newest = await client.templates.read('orders/eu');
    assert.deepEqual([newest.version, newest.defaults], [2, { a: 3 }]);
    const { tags, actor } = await client.templates.read('orders/eu', 1);
    assert.deepEqual([tags, nameIn(actor)], [['made'], 'operate+submit of default']);
    const first = await client.templates.list({ limit: 1 });
    const rest = await client.templates.list({ limit: 1, cursor: first.cursor ?? '' });
    assert.deepEqual([first.items[0]?.version, rest.items[0]?.version], [2, 1]);
    await coordinator.worker([echo]);
    const { id } = await client.executions.submit({
      template: { id: 'orders/eu', version: 1 },
      input: { b: 9 },
    });
    assert.deepEqual((await client.executions.result(id)).output, { a: 1, b: 9 });
    const other = await coordinator.client(['operate', 'submit'], 'other');
    await assert.rejects(other.templates.read('orders/eu'), refusedWith('template-unknown', 404));
    await assert.rejects(
      client.templates.put('job', 1, { pipeline: 'holdfast.job' }),
      refusedWith('name-reserved', 403),
    );
  },
};

const schedules: Case = {
  name: 'schedules are put, read, paused, resumed and removed; and they fire',
  async run(coordinator) {
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const nightly = await client.schedules.put('nightly', {
      cron: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      pipeline: 'echo',
      input: { n: 1 },
    });
    assert.deepEqual([nightly.nextTimes.length, nightly.input], [5, { n: 1 }]);
    assert.equal(nameIn(nightly.actor), 'operate+submit of default');
    assert.equal((await client.schedules.pause('nightly')).kind, 'done');
    assert.equal((await client.schedules.pause('nightly')).kind, 'no-change');
    assert.deepEqual((await client.schedules.read('nightly')).nextTimes, []);
    assert.equal((await client.schedules.resume('nightly')).kind, 'done');
    await client.schedules.put('often', { every: 100, pipeline: 'echo', overlap: 'allow' });
    const fired = await until(async () => (await client.schedules.read('often')).lastExecution);
    assert.equal((await client.executions.read(fired)).submittedBy, 'schedule often');
    const { items } = await client.schedules.list();
    const given = { cron: '0 4 * * *', pipeline: 'echo', ifExists: 'refuse' } as const;
    await assert.rejects(
      client.schedules.put('nightly', given),
      refusedWith('schedule-exists', 409),
    );
    const triggered = await client.schedules.trigger('nightly', { key: 'now' });
    assert.deepEqual(await client.schedules.trigger('nightly', { key: 'now' }), triggered);
    assert.equal(triggered.kind, 'submitted');
    const from = new Date(Date.parse(nightly.nextTimes[0] ?? '') - 3 * 86_400_000).toISOString();
    const range = { from, to: new Date(Date.now() - 1_000).toISOString() };
    const filled = await client.schedules.backfill('nightly', range);
    assert.deepEqual([filled.submitted, filled.times], [filled.times, filled.times]);
    assert.equal((await client.schedules.backfill('nightly', range)).submitted, 0);
    assert.deepEqual(
      items.map((each) => each.id),
      ['nightly', 'often'],
    );
    const other = await coordinator.client(['operate', 'submit'], 'other');
    await assert.rejects(other.schedules.read('nightly'), refusedWith('schedule-unknown', 404));
    await assert.rejects(other.schedules.pause('nightly'), refusedWith('schedule-unknown', 404));
    assert.equal((await other.schedules.remove('nightly')).kind, 'no-change');
    for (const id of ['nightly', 'often']) {
      assert.equal((await client.schedules.remove(id)).kind, 'done');
    }
    await assert.rejects(
      client.schedules.put('bad', { cron: 'never', pipeline: 'echo' }),
      refusedWith('invalid-input', 400),
    );
  },
};

const views: Case = {
  name: 'views are saved, renamed, listed for a page and deleted, within their project and its quota',
  given: { quotas: { views: 2 } },
  async run(coordinator) {
    const client = await coordinator.client(['operate'], 'default');
    const late = { name: 'Late', page: 'executions', query: 'status=waiting' };
    assert.deepEqual(await client.views.put('late', late), { changed: true });
    assert.deepEqual(await client.views.put('late', late), { changed: false });
    assert.deepEqual(await client.views.put('late', { ...late, name: 'Later' }), { changed: true });
    await client.views.put('mine', { name: 'Mine', page: 'audit', query: 'actor=me' });
    const [found] = (await client.views.list({ page: 'executions' })).items;
    assert.deepEqual([found?.id, found?.name, found?.query], ['late', 'Later', 'status=waiting']);
    assert.equal(nameIn(found?.savedBy), 'operate of default');
    const first = await client.views.list({ limit: 1 });
    const rest = await client.views.list({ limit: 1, cursor: first.cursor ?? '' });
    assert.deepEqual([first.items[0]?.id, rest.items[0]?.id], ['late', 'mine']);
    await assert.rejects(client.views.put('third', late), refusedWith('over-quota', 429));
    const other = await coordinator.client(['operate'], 'other');
    assert.deepEqual((await other.views.list()).items, []);
    assert.equal((await other.views.remove('late')).kind, 'no-change');
    const reader = await coordinator.client(['submit'], 'default');
    assert.equal((await reader.views.list()).items.length, 2);
    await assert.rejects(reader.views.remove('late'), refusedWith('role-missing', 403));
    await assert.rejects(client.views.put('No Id', late), refusedWith('invalid-input', 400));
    assert.equal((await client.views.remove('late')).kind, 'done');
    assert.equal((await client.views.remove('late')).kind, 'no-change');
  },
};

export const planCases: readonly Case[] = [templates, schedules, views];
