import assert from 'node:assert/strict';
import { HoldfastClient } from '../../../src/client/client.ts';
import { nameIn, refusedWith } from '../coordinator.ts';
import type { Case } from './case.ts';

const projects: Case = {
  name: 'keys for all projects put and list projects',
  async run(coordinator) {
    const all = await coordinator.client(['admin']);
    assert.deepEqual(await all.projects.put('ours', { title: 'Ours' }), { existing: false });
    const settings = { title: 'Ours', keepMs: { completed: 1_000 } };
    assert.deepEqual(await all.projects.put('ours', settings), { existing: true });
    const { createdAt: _, ...read } = await all.projects.read('ours');
    assert.deepEqual(read, { name: 'ours', ...settings });
    await all.projects.put('theirs');
    const first = await all.projects.list({ limit: 2 });
    const rest = await all.projects.list({ limit: 2, cursor: first.cursor ?? '' });
    assert.deepEqual(
      [...first.items, ...rest.items].map(({ name }) => name),
      ['default', 'ours', 'theirs'],
    );
    const scoped = await coordinator.client(['admin'], 'ours');
    assert.deepEqual(
      (await scoped.projects.list()).items.map(({ name }) => name),
      ['ours'],
    );
    await assert.rejects(scoped.projects.put('more'), refusedWith('project-denied', 403));
    await assert.rejects(scoped.projects.read('theirs'), refusedWith('not-found', 404));
    await assert.rejects(all.projects.put('a b'), refusedWith('invalid-input', 400));
  },
};

const keys: Case = {
  name: 'keys are created, shown once, listed without their secret, and revoked',
  async run(coordinator) {
    const all = await coordinator.client(['admin']);
    await all.projects.put('ours');
    const made = await all.keys.create({ name: 'ci', roles: ['submit'], project: 'ours' });
    assert.match(made.key, /^hf_/);
    const { url } = coordinator;
    const client = new HoldfastClient({ url, key: made.key });
    const { id } = await client.executions.submit({ pipeline: 'idle' });
    assert.equal((await client.executions.read(id)).project, 'ours');
    const { items } = await all.keys.list({ project: 'ours' });
    assert.deepEqual(
      items.map((each) => [each.id, each.name, nameIn(each.createdBy)]),
      [[made.id, 'ci', 'admin of all']],
    );
    assert.equal(JSON.stringify(items).includes(made.key.slice(-43)), false);
    assert.equal('digest' in (items[0] ?? {}), false);
    const scoped = await coordinator.client(['admin'], 'theirs');
    await assert.rejects(scoped.keys.read(made.id), refusedWith('key-unknown', 404));
    await assert.rejects(scoped.keys.revoke(made.id), refusedWith('key-unknown', 404));
    await assert.rejects(scoped.keys.rotate(made.id), refusedWith('key-unknown', 404));
    await assert.rejects(scoped.keys.list({ project: 'ours' }), refusedWith('project-denied', 403));
    for (const project of ['ours', null]) {
      await assert.rejects(
        scoped.keys.create({ name: 'x', roles: ['admin'], project }),
        refusedWith('project-denied', 403),
      );
    }
    await assert.rejects(
      all.keys.create({ name: 'x', roles: ['work'], project: 'nowhere' }),
      refusedWith('project-unknown', 404),
    );
    assert.equal((await all.keys.revoke(made.id)).changed, true);
    assert.equal((await all.keys.revoke(made.id)).changed, false);
    assert.deepEqual((await all.keys.list({ project: 'ours' })).items, []);
    assert.equal((await all.keys.list({ project: 'ours', all: true })).items.length, 1);
    await assert.rejects(all.keys.rotate(made.id), refusedWith('key-ended', 409));
  },
};

const rotation: Case = {
  name: 'a rotated key allows the same, and the old one stays valid for a while',
  async run(coordinator) {
    const all = await coordinator.client(['admin']);
    await all.projects.put('ours');
    const old = await all.keys.create({
      ...{ name: 'ci', roles: ['submit', 'operate'], project: 'ours' },
      expiresInMs: 86_400_000,
    });
    const made = await all.keys.rotate(old.id, 60_000);
    const [was, is] = [await all.keys.read(old.id), await all.keys.read(made.id)];
    assert.deepEqual([is.name, is.roles, is.project], [was.name, was.roles, was.project]);
    assert.equal(was.revokedAt, made.oldEndsAt);
    assert.notEqual(is.expiresAt, undefined);
    for (const { key } of [old, made]) {
      const client = new HoldfastClient({ url: coordinator.url, key });
      assert.deepEqual((await client.executions.list()).items, []);
    }
    const pages: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await all.keys.list({ project: 'ours', limit: 1, ...(cursor && { cursor }) });
      pages.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    assert.deepEqual(pages.sort(), [old.id, made.id].sort());
  },
};

export const adminCases: readonly Case[] = [projects, keys, rotation];
