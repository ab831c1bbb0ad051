import assert from 'node:assert/strict';
import { HoldfastClient } from '../../../src/client/client.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { openSession, pipeline } from '../../../src/index.ts';
import { refusedWith } from '../coordinator.ts';
import type { Case } from './case.ts';

const idle = pipeline({ name: 'idle', run: () => 1 });
const other = pipeline({ name: 'other', run: () => 1 });

const workers: Case = {
  name: 'keys of a project see its workers, with their pipelines',
  async run(coordinator) {
    const worker = await coordinator.worker([idle, other], { project: 'ours', owner: 'w@host' });
    const ours = await coordinator.client(['operate'], 'ours');
    const theirs = await coordinator.client(['operate'], 'theirs');
    const { items } = await ours.sessions.workers();
    assert.deepEqual(
      items.map(({ id, owner, state, pipelines }) => ({ id, owner, state, pipelines })),
      [{ id: worker.session, owner: 'w@host', state: 'alive', pipelines: ['idle', 'other'] }],
    );
    assert.ok((items[0]?.slackMs ?? 0) > 0);
    assert.deepEqual((await theirs.sessions.workers()).items, []);
    assert.equal((await ours.sessions.read(worker.session)).id, worker.session);
    await assert.rejects(theirs.sessions.read(worker.session), refusedWith('session-unknown', 404));
  },
};

const everyWorker: Case = {
  name: 'keys for all projects see all kinds of workers, with their running executions',
  async run(coordinator) {
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const holds = pipeline({
      name: 'holds',
      run: (ctx) =>
        ctx.step('hold', async () => {
          begun.resolve();
          await go.promise;
        }),
    });
    await using holdfast = new Holdfast({ store: coordinator.store });
    const embedded = await holdfast.worker({ pipelines: [holds], owner: 'inside' });
    const remote = await coordinator.worker([idle], { project: 'ours', owner: 'w@host' });
    const handle = await holdfast.submit(holds, undefined, { lane: 'batch', project: 'ours' });
    await begun.promise;
    const key = await coordinator.key(['operate']);
    const all = new HoldfastClient({ url: coordinator.url, key, project: 'ours' });
    const { items } = await all.sessions.workers();
    const seen = items.map(({ id, kind, pipelines, inFlight }) => ({
      ...{ id, kind, pipelines, inFlight },
    }));
    const of = (id: string) => seen.find((each) => each.id === id);
    assert.deepEqual(of(embedded.session), {
      ...{ id: embedded.session, kind: 'embedded', pipelines: ['holds'] },
      inFlight: { interactive: 0, batch: 1 },
    });
    assert.deepEqual(of(remote.session), {
      ...{ id: remote.session, kind: 'remote', pipelines: ['idle'] },
      inFlight: { interactive: 0, batch: 0 },
    });
    assert.deepEqual(
      seen.filter(({ kind }) => kind === 'coordinator').map(({ pipelines }) => pipelines),
      [undefined],
    );
    const scoped = await coordinator.client(['operate'], 'ours');
    assert.deepEqual(
      (await scoped.sessions.workers()).items.map(({ id }) => id),
      [remote.session],
    );
    go.resolve();
    await handle.result();
  },
};

const sessions: Case = {
  name: 'sessions without a project are for keys of all projects, and an admin ends them',
  async run(coordinator) {
    const { store } = coordinator;
    await using session = await openSession({ store, owner: 'somebody' });
    const scoped = await coordinator.client(['operate', 'admin'], 'ours');
    const all = await coordinator.client(['operate', 'admin']);
    const ids = (await all.sessions.list()).items.map(({ id }) => id);
    assert.ok(ids.includes(session.id));
    assert.deepEqual((await scoped.sessions.list()).items, []);
    const denied = refusedWith('session-unknown', 404);
    await assert.rejects(scoped.sessions.read(session.id), denied);
    await assert.rejects(scoped.sessions.end(session.id, 'no'), denied);
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await all.sessions.list({ limit: 1, ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    assert.deepEqual(seen, ids);
    await all.sessions.end(session.id, 'gone');
    const after = await all.sessions.read(session.id);
    assert.deepEqual([after.state, after.end?.exit], ['ended', 'revoked']);
    assert.match(after.end?.actor ?? '', /^operate\+admin of all \([a-z2-7]{16}\)$/);
  },
};

const leases: Case = {
  name: 'leases are for keys of all projects: read, drained, revoked',
  async run(coordinator) {
    const { store } = coordinator;
    await using session = await openSession({ store, owner: 'somebody' });
    const got = await session.acquire('jobs/a b');
    assert.equal(got.kind, 'acquired');
    const scoped = await coordinator.client(['operate', 'admin'], 'ours');
    const all = await coordinator.client(['operate', 'admin']);
    const { items } = await all.leases.list({ prefix: 'jobs/' });
    assert.deepEqual([items[0]?.key, items[0]?.owner], ['jobs/a b', 'somebody']);
    const held = await all.leases.read('jobs/a b');
    assert.deepEqual([held.state, held.fence], ['held', items[0]?.fence]);
    const fence = held.fence ?? 0;
    const denied = refusedWith('project-denied', 403);
    const term = { fence, reason: 'because' };
    await assert.rejects(scoped.leases.list(), denied);
    await assert.rejects(scoped.leases.read('jobs/a b'), denied);
    await assert.rejects(scoped.leases.revoke('jobs/a b', term), denied);
    await assert.rejects(scoped.leases.drain('jobs/a b', { ...term, deadlineMs: 1 }), denied);
    const drained = await all.leases.drain('jobs/a b', { ...term, deadlineMs: 60_000 });
    assert.equal(drained.kind, 'draining');
    assert.match(
      (await all.leases.read('jobs/a b')).drain?.actor ?? '',
      /^operate\+admin of all \(/,
    );
    // A fence that was never issued would halt the store.
    await assert.rejects(
      all.leases.revoke('jobs/a b', { ...term, fence: fence + 2 ** 40 }),
      refusedWith('superseded', 409),
    );
    await assert.rejects(all.leases.revoke('nothing', term), refusedWith('key-unknown', 404));
    assert.equal((await all.leases.revoke('jobs/a b', term)).kind, 'revoked');
    assert.equal((await all.leases.read('jobs/a b')).state, 'free');
    await using again = await openSession({ store, owner: 'next' });
    assert.equal((await again.acquire('jobs/a b')).kind, 'acquired');
  },
};

export const operationCases: readonly Case[] = [workers, everyWorker, sessions, leases];
