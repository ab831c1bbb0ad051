import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { replayHistory } from '../../../contract/testing/replay-history.ts';
import { HoldfastClient } from '../../../src/client/client.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import type { SavedHistory } from '../../../src/index.ts';
import { openSession, pipeline } from '../../../src/index.ts';
import type { AttemptId, LeaseKey, Owner, SessionId } from '../../../src/lease/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { packageVersion } from '../../../src/support/process-about.ts';
import { systemRandom } from '../../../src/support/random.ts';
import { refusedWith, until } from '../coordinator.ts';
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
    for (const { id, host, version } of items) {
      assert.equal(host, hostname(), id);
      assert.equal(version, packageVersion(), id);
    }
    assert.match(packageVersion() ?? '', /^\d+\.\d+\.\d+/);
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

/** Its holder never sends a heartbeat, has authority for a second, and a minute to rejoin. */
async function staleLease(store: CoordinatorStore): Promise<void> {
  const key = 'jobs/stale' as LeaseKey;
  // On a busy machine, a session may lapse before it acquires. Then the next one tries.
  await until(async () => {
    const id = systemRandom.uuid() as SessionId;
    const life = { ttlMs: 61_000, graceMs: 60_000, metadata: {} };
    await store.sessions.open({ id, owner: 'silent' as Owner, ...life });
    const attempt = systemRandom.uuid() as AttemptId;
    const { kind } = await store.leases.acquire({ key, session: id, attempt });
    return kind === 'granted' || undefined;
  });
  await until(async () => (await store.leases.inspect(key)).state === 'lapsed' || undefined);
}

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
    assert.deepEqual((await all.leases.list({ staleOwner: true })).items, []);
    await staleLease(store);
    const stale = (await all.leases.list({ staleOwner: true, limit: 1 })).items;
    assert.deepEqual(
      stale.map(({ key, state }) => [key, state]),
      [['jobs/stale', 'lapsed']],
    );
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

const byKey: Case = {
  name: 'an execution is read, signalled, watched and cancelled by its key, by its own project only',
  async run(coordinator) {
    const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive('go') });
    await coordinator.worker([waits], { project: 'ours' });
    const ours = await coordinator.client(['submit', 'operate'], 'ours');
    const theirs = await coordinator.client(['submit', 'operate'], 'theirs');
    const ref = 'key:order/17 ü';
    const key = 'order/17 ü';
    const { id } = await ours.executions.submit({ pipeline: 'waits', key });
    assert.equal((await ours.executions.read(ref)).id, id);
    await assert.rejects(theirs.executions.read(ref), refusedWith('execution-unknown', 404));
    await assert.rejects(theirs.executions.cancel(ref), refusedWith('execution-unknown', 404));
    await ours.executions.signal(ref, { name: 'go', key: 'go/1' }, 7);
    const repeated = await ours.executions.signal(ref, { name: 'go', key: 'go/1' }, 7);
    assert.equal(repeated.kind, 'no-change');
    const kinds: string[] = [];
    for await (const { kind } of ours.executions.watch(ref)) kinds.push(kind);
    assert.equal(kinds.at(-1), 'completed');
    assert.equal((await ours.executions.result(ref)).output, 7);
    assert.equal((await ours.executions.history(ref, { limit: 1 }))[0]?.kind, 'submitted');
    assert.equal((await ours.executions.explain(ref)).code, 'ended');
    await assert.rejects(ours.executions.cancel(ref), refusedWith('already-ended', 409));
    const request = { pipeline: 'waits', key, ifKeyTaken: 'refuse' } as const;
    await assert.rejects(ours.executions.submit(request), refusedWith('key-in-use', 409));
    const signal = { name: 'other', value: 1 };
    const joining = { pipeline: 'waits', key, signal };
    await assert.rejects(ours.executions.submit(joining), refusedWith('already-ended', 409));
    const own = { ...joining, signal: { name: 'holdfast.undo' } };
    await assert.rejects(ours.executions.submit(own), refusedWith('name-reserved', 403));
    const keyless = { pipeline: 'waits', signal };
    await assert.rejects(ours.executions.submit(keyless), refusedWith('invalid-input', 400));
    const again = await ours.executions.submit({ ...joining, ifKeyTaken: 'reuse' });
    assert.equal((await ours.executions.submit({ ...joining, input: 2 })).id, again.id);
    assert.notEqual(again.id, id);
    await ours.executions.pause(ref);
    await ours.executions.resume(ref);
    await ours.executions.cancel(ref, 'enough');
    assert.equal((await ours.executions.result(ref)).status, 'cancelled');
    assert.equal((await ours.executions.result(ref)).id, again.id);
    const redriven = await ours.executions.redrive(ref);
    assert.equal((await ours.executions.read(redriven.id)).redriveOf, again.id);
    assert.equal((await ours.executions.read(ref)).id, again.id);
    for (const bad of ['key:', 'key', `key:${'k'.repeat(257)}`]) {
      await assert.rejects(ours.executions.read(bad), refusedWith('invalid-input', 400));
    }
  },
};

const waitingSubmits: Case = {
  name: 'a submit that waits has the result of what ends in time, and its history can be replayed',
  async run(coordinator) {
    const adds = pipeline({ name: 'adds', run: (_, input: number) => input + 1 });
    const fails = pipeline({ name: 'fails', run: () => Promise.reject(new Error('no stock')) });
    const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive<string>('go') });
    const client = await coordinator.client(['submit', 'operate'], 'default');
    await coordinator.worker([adds, fails, waits]);
    const request = { pipeline: 'adds', input: 1, key: 'one', waitMs: 60_000 };
    const first = await client.executions.submit(request);
    assert.deepEqual(first.result, { id: first.id, status: 'completed', output: 2 });
    // How long to wait is no part of the intent.
    const { existing, result } = await client.executions.submit({ ...request, waitMs: 30_000 });
    assert.deepEqual([existing, result], [true, first.result]);
    const saved = await client.executions.saveHistory('key:one');
    const replayed = await replayHistory(adds, saved as unknown as SavedHistory);
    assert.deepEqual([saved.events.length > 2, replayed], [true, { kind: 'same' }]);
    const failed = await client.executions.run({ pipeline: 'fails' });
    assert.deepEqual([failed.status, failed.failure?.message], ['failed', 'no stock']);
    const open = await client.executions.submit({ pipeline: 'waits', waitMs: 1 });
    assert.equal(open.result, undefined);
    await client.executions.signal(open.id, 'go', 'gone');
    assert.equal((await client.executions.result(open.id)).output, 'gone');
    await assert.rejects(
      client.executions.submit({ ...request, waitMs: 60_001 }),
      refusedWith('invalid-input', 400),
    );
  },
};

export const operationCases: readonly Case[] = [
  waitingSubmits,
  byKey,
  workers,
  everyWorker,
  sessions,
  leases,
];
