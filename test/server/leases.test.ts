// Leases as a service: projects apart, keys of sessions, fences from outside, hints, recipes. The
// lease contract itself runs through coordinators in test/contract.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { LEASE_MESSAGES, type LeaseKind } from '../../src/features/leases/messages.ts';
import {
  drainLease,
  type LeaseEvent,
  type LeaseService,
  openSession,
  parseLeaseKey,
  revokeLease,
  startSweeper,
  watchLeases,
} from '../../src/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import { workMessage } from '../../src/protocol/messages/work-messages.ts';
import { elect, pool, registry, revokePrefix, withLease } from '../../src/recipes/index.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { systemRandom } from '../../src/support/random.ts';
import { transportTo } from '../../src/worker/connection.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';
import { refusedWith, TestCoordinator, until } from './coordinator.ts';
import { type Raw, RawWorker } from './raw-worker.ts';

const ROLE = ['lease'] as const;

async function leasesOf(
  coordinator: TestCoordinator,
  project?: string,
): Promise<LeaseService & AsyncDisposable> {
  const key = await coordinator.key(ROLE, project);
  const store = await openCoordinator({ url: coordinator.url, key });
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

test("P-18: a session's texts are bounded together, and so are those of a page", async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const key = await coordinator.key(ROLE);
  const worker = new RawWorker(coordinator.url, key, 'default');
  const open = (entries: number): Promise<Raw> => {
    const names = Array.from({ length: entries }, (_, nth) => [`n${nth}`, 'x'.repeat(2_000)]);
    const metadata = Object.fromEntries(names);
    const session = { id: systemRandom.uuid(), owner: 'o', ttlMs: 60_000, graceMs: 0, metadata };
    return worker.call('POST', '/v1/work/sessions', session);
  };
  const refused = await open(33);
  assert.deepEqual([refused.status, refused.json.code], [400, 'invalid-input']);
  assert.match(refused.json.detail, /65536 characters together\. Nothing was written\./);
  for (let nth = 0; nth < 80; nth += 1) assert.equal((await open(32)).status, 200);
  const pages: number[] = [];
  for (let next: string | undefined = ''; next !== undefined; ) {
    const after = next === '' ? '' : `?after=${next}`;
    const { json } = await worker.call('GET', `/v1/work/sessions${after}`);
    pages.push(json.items.length);
    next = json.next;
  }
  assert.deepEqual(pages, [66, 14], 'a page ends when it has 4 MiB of metadata');
});

test('a holder of more leases than one reply has keeps all of them', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using leases = await leasesOf(coordinator);
  const session = await openSession({ store: leases, owner: 'holder' });
  const keys = Array.from({ length: 1_001 }, (_, nth) => `k${String(nth).padStart(4, '0')}`);
  await Promise.all(keys.map((key) => session.acquire(key)));
  const carried = await leases.sessions.leases(session.id);
  assert.deepEqual(
    carried.map(({ key }) => String(key)),
    keys,
  );
  await session.close();
});

test('P-18: a page of events looks up each session once, two at a time', async () => {
  const plain = openMemoryStore();
  let underWay = 0;
  let most = 0;
  const asked: string[] = [];
  const inspect: typeof plain.sessions.inspect = async (id) => {
    asked.push(id);
    underWay += 1;
    most = Math.max(most, underWay);
    const found = await plain.sessions.inspect(id);
    underWay -= 1;
    return found;
  };
  const sessions = { ...plain.sessions, inspect };
  await using coordinator = await TestCoordinator.open({ store: { ...plain, sessions } });
  // Sessions outside of projects, whose owners did not use the coordinator.
  for (let nth = 0; nth < 20; nth += 1) {
    await (await openSession({ store: plain, owner: `embedded-${nth}` })).close();
  }
  await using leases = await leasesOf(coordinator);
  const before = asked.length;
  const page = await leases.leases.events({ after: 0, limit: 1_000 });
  assert.equal(page.kind, 'events');
  const looked = asked.slice(before);
  assert.ok(looked.length >= 20, `${looked.length} lookups`);
  assert.equal(new Set(looked).size, looked.length);
  assert.equal(most, 2);
});

test('P-18: a project has four calls of leases in the store at once, and those of another one do not wait', async () => {
  const plain = openMemoryStore();
  const began: string[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const acquire: typeof plain.leases.acquire = async (request) => {
    began.push(request.key);
    await released;
    return plain.leases.acquire(request);
  };
  const leases = { ...plain.leases, acquire };
  await using coordinator = await TestCoordinator.open({ store: { ...plain, leases } });
  await using hostile = await leasesOf(coordinator, 'default');
  await using healthy = await leasesOf(coordinator, 'other');
  const own = await openSession({ store: hostile, owner: 'hostile' });
  const other = await openSession({ store: healthy, owner: 'healthy' });
  const acquired = Array.from({ length: 8 }, (_, nth) => own.acquire(`k${nth}`));
  await until(async () => (began.length === 4 ? true : undefined));
  acquired.push(other.acquire('k'));
  await until(async () => (began.length === 5 ? true : undefined));
  release();
  await Promise.all(acquired);
  assert.equal(began.length, 9);
  await own.close();
  await other.close();
});

test('every message of the lease protocol has the reply of its schema', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const client = new RawWorker(coordinator.url, await coordinator.key(ROLE, 'default'), 'default');
  const asked = new Set<LeaseKind>();
  const call = async (kind: LeaseKind, body: Record<string, unknown>): Promise<Raw['json']> => {
    asked.add(kind);
    const { method, path } = workMessage(kind);
    const rest = new Map(Object.entries(body));
    const at = path.replace(/:(\w+)/g, (_, name: string) => {
      const value = String(rest.get(name));
      rest.delete(name);
      return value;
    });
    const query = new URLSearchParams(
      [...rest].map(([name, value]): [string, string] => [name, String(value)]),
    );
    const isGet = method === 'GET';
    const { json } = await client.call(
      method,
      isGet ? `${at}?${query}` : at,
      isGet ? undefined : Object.fromEntries(rest),
    );
    return json;
  };
  const { session } = client;
  const opening = { id: session, owner: 'by hand', ttlMs: 60_000, graceMs: 1_000 };
  await client.call('POST', '/v1/work/sessions', { ...opening, metadata: { host: 'h' } });
  const key = 'orders/17';
  const attempt = systemRandom.uuid();
  const granted = await call('acquireLease', { key, session, attempt });
  assert.deepEqual([granted.kind, granted.key], ['granted', key]);
  const { fence } = granted;
  const tenure = { key, fence, session };
  const waiting = await call('acquireLease', {
    ...{ key, session, attempt: systemRandom.uuid(), wait: true },
  });
  assert.deepEqual([waiting.kind, waiting.refusal.key], ['queued', key]);
  assert.equal((await call('withdrawAttempt', { key, attempt })).kind, 'withdrawn');
  const bytes = Buffer.from('{"page":4}');
  const content = { seq: 1, bytes: bytes.toString('base64'), digest: digestOf(bytes) };
  assert.equal((await call('saveCheckpoint', { ...tenure, ...content })).kind, 'saved');
  assert.equal((await call('beginIntent', { ...tenure, effect: 'pay' })).kind, 'begun');
  assert.equal((await call('settleIntent', { ...tenure, effect: 'pay' })).kind, 'settled');
  assert.equal((await call('verifyFence', { key, fence })).kind, 'current');
  const inspected = await call('inspectLease', { key });
  assert.deepEqual([inspected.record.key, inspected.record.checkpoint.bytes], [key, content.bytes]);
  assert.equal((await call('listProjectLeases', { prefix: 'orders/' })).items[0].key, key);
  assert.equal((await call('listCarriedLeases', { id: session })).items[0].key, key);
  const shown = await call('inspectSession', { id: session });
  assert.deepEqual(shown.session.metadata, { host: 'h' });
  assert.equal((await call('listProjectSessions', {})).items[0].session.id, session);
  const by = { request: systemRandom.uuid(), actor: 'ada', reason: 'deploy' };
  const drained = await call('requestDrain', { key, fence, ...by, deadlineMs: 1_000 });
  assert.equal(drained.kind, 'draining');
  assert.equal((await call('revokeTerm', { key, fence, ...by })).kind, 'revoked');
  assert.equal((await call('releaseLease', { ...tenure, exit: 'finished' })).kind, 'refused');
  const { items } = await call('readLeaseEvents', { after: 0 });
  assert.ok(items.some((each: LeaseEvent) => each.kind === 'drain-requested'));
  assert.deepEqual((await call('waitForLeaseHint', { waitMs: 1 })).keys, []);
  assert.deepEqual([...asked].sort(), Object.keys(LEASE_MESSAGES).sort());
});

test('M-39: two projects hold keys of the same text at once, and see nothing of each other', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  // The names are chosen so that a key with its project would be one text.
  const projects = ['a', 'a:b', 'e\u0301', '\u00e9'] as const;
  const keys = ['b:c', 'c', 'x', 'x'] as const;
  const all = await Promise.all(projects.map((each) => leasesOf(coordinator, each)));
  const sessions = await Promise.all(
    all.map((store, nth) => openSession({ store, owner: `of ${nth}` })),
  );
  for (const [nth, session] of sessions.entries()) {
    assert.equal((await session.acquire(keys[nth] ?? '')).kind, 'acquired', projects[nth]);
  }
  for (const [nth, store] of all.entries()) {
    const listed = await store.leases.list({ limit: 10 });
    assert.deepEqual(
      listed.map(({ key, owner }) => [key, owner]),
      [[keys[nth], `of ${nth}`]],
    );
    const found = await store.sessions.list({ limit: 10 });
    assert.deepEqual(
      found.map(({ session }) => session.owner),
      [`of ${nth}`],
    );
    const page = await store.leases.events({ after: 0, limit: 100 });
    assert.ok(page.kind === 'events');
    const owners = page.events.map((each) => ('owner' in each ? each.owner : ''));
    assert.deepEqual(owners, [`of ${nth}`, `of ${nth}`]);
  }
  const stored = await coordinator.store.leases.list({ limit: 10 });
  assert.equal(new Set(stored.map(({ key }) => key)).size, projects.length);
  for (const each of sessions) await each.close();
  for (const each of all) await each.close();
});

test('M-20, M-39: a session of another key or project does not exist', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using own = await leasesOf(coordinator, 'ours');
  await using colleague = await leasesOf(coordinator, 'ours');
  await using stranger = await leasesOf(coordinator, 'theirs');
  const session = await openSession({ store: own, owner: 'ann' });
  const outcome = await session.acquire('k');
  assert.ok(outcome.kind === 'acquired');
  const { key, fence } = outcome.lease;
  const tenure = { key, fence, session: session.id };
  for (const [store, why] of [
    [colleague, 'not-yours'],
    [stranger, 'key-unknown'],
  ] as const) {
    const { leases, sessions } = store;
    const released = await leases.release({ ...tenure, exit: 'finished' });
    assert.deepEqual([released.kind, 'why' in released && released.why], ['refused', why]);
    const attempt = systemRandom.uuid() as never;
    for (const result of [
      await leases.acquire({ key, session: session.id, attempt }),
      await sessions.heartbeat({ id: session.id, owner: session.owner }),
      await sessions.end({
        id: session.id,
        by: { kind: 'owner', owner: session.owner, exit: 'failed' },
      }),
      await sessions.open({
        ...{ id: systemRandom.uuid() as never, owner: session.owner, parent: session.id },
        ...{ ttlMs: 1_000, graceMs: 0, metadata: {} },
      }),
    ]) {
      assert.deepEqual(
        [result.kind, 'why' in result && result.why],
        ['refused', 'session-unknown'],
      );
    }
    assert.deepEqual(await sessions.leases(session.id), []);
  }
  assert.equal((await stranger.leases.inspect(key)).state, 'free');
  assert.equal(await stranger.sessions.inspect(session.id), undefined);
  assert.equal((await colleague.leases.inspect(key)).record?.owner, 'ann');
  outcome.lease.assertHeld(0);
  await session.close();
});

test('M-40: a key of one project that presents a fence of the future halts no grants', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using store = await leasesOf(coordinator, 'ours');
  const session = await openSession({ store, owner: 'ann' });
  const outcome = await session.acquire('k');
  assert.ok(outcome.kind === 'acquired');
  const ahead = (outcome.lease.fence + 2 ** 41) as typeof outcome.lease.fence;
  const { key } = outcome.lease;
  const refused = await store.leases.verify({ key, fence: ahead });
  assert.deepEqual(refused, { kind: 'refused', why: 'fence-ahead', key, fence: ahead });
  const never = await store.leases.verify({ key: 'never' as never, fence: ahead });
  assert.deepEqual(never, { kind: 'refused', why: 'key-unknown', key: 'never' });
  assert.equal((await session.acquire('other')).kind, 'acquired');
  await using all = await leasesOf(coordinator);
  await all.leases.verify({ key, fence: ahead });
  const halted = await session.acquire('third');
  assert.deepEqual([halted.kind, 'why' in halted && halted.why], ['refused', 'halted']);
  await session.close();
});

test('an operation names the given actor and the key that sent it', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using store = await leasesOf(coordinator, 'ours');
  const session = await openSession({ store, owner: 'ann' });
  const outcome = await session.acquire('k');
  assert.ok(outcome.kind === 'acquired');
  const { key, fence } = outcome.lease;
  const by = { store, key, fence, actor: 'ada', reason: 'deploy' };
  await drainLease({ ...by, deadlineMs: 60_000 });
  const { record } = await store.leases.inspect(key);
  assert.match(record?.drain?.actor ?? '', /^ada \([a-z2-7]{16}\)$/);
  assert.equal((await revokeLease(by)).kind, 'revoked');
  await session.close();
});

test('metadata of a session comes back, and reserved names are refused', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using store = await leasesOf(coordinator, 'ours');
  const session = await openSession({ store, owner: 'ann', metadata: { port: '8080' } });
  const found = await store.sessions.inspect(session.id);
  assert.deepEqual(found?.session.metadata, { port: '8080' });
  for (const name of ['holdfast.project', 'holdfast.key', 'holdfast.worker']) {
    await assert.rejects(
      openSession({ store, owner: 'eve', metadata: { [name]: 'theirs' } }),
      refusedWith('name-reserved'),
    );
  }
  const operator = await coordinator.client(['operate'], 'ours');
  assert.deepEqual((await operator.sessions.workers()).items, []);
  await session.close();
});

test('M-41: a waiting acquire gets its key from a hint, long before its next poll', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using first = await leasesOf(coordinator, 'ours');
  await using second = await leasesOf(coordinator, 'ours');
  const ann = await openSession({ store: first, owner: 'ann' });
  const bob = await openSession({ store: second, owner: 'bob' });
  const held = await ann.acquire('k');
  assert.ok(held.kind === 'acquired');
  // The next poll of the waiter is after the time limit of this test.
  const waiting = bob.acquire('k', { wait: true, pollMs: 600_000 });
  await until(async () =>
    (await first.leases.inspect(held.lease.key)).waiting === 1 ? true : undefined,
  );
  await held.lease.release('yielded');
  const got = await waiting;
  assert.ok(got.kind === 'acquired' && got.lease.predecessor.exit === 'yielded');
  await ann.close();
  await bob.close();
});

test('M-41: between their polls, fifty waiters of a process cost one open request and no call of the store', async () => {
  const plain = openMemoryStore();
  let calls = 0;
  const acquire: typeof plain.leases.acquire = (request) => {
    calls += 1;
    return plain.leases.acquire(request);
  };
  await using coordinator = await TestCoordinator.open({
    store: { ...plain, leases: { ...plain.leases, acquire } },
    maintenance: false,
  });
  await using holding = await leasesOf(coordinator, 'ours');
  const inner = transportTo({ url: coordinator.url, key: await coordinator.key(ROLE, 'ours') });
  const sent: string[] = [];
  const request: Transport['request'] = (message) => {
    if (message.kind !== 'heartbeat') sent.push(message.kind);
    return inner.request(message);
  };
  const store = await openCoordinator({
    transport: { ...inner, request, close: () => inner.close() },
  });
  const clock = new ManualClock();
  const ann = await openSession({ store: holding, owner: 'ann' });
  const bob = await openSession({
    store,
    owner: 'bob',
    ttlMs: 60_000,
    clock,
    timers: clock.timers,
  });
  const held = await ann.acquire('k');
  assert.ok(held.kind === 'acquired');
  sent.length = 0;
  calls = 0;
  const waits = Array.from({ length: 50 }, () => bob.acquire('k', { wait: true }));
  await until(async () =>
    (await holding.leases.inspect(held.lease.key)).waiting === 50 ? true : undefined,
  );
  assert.equal(calls, 50);
  assert.equal(sent.filter((kind) => kind === 'waitForLeaseHint').length, 1);
  // A poll follows after 5 s, give or take a quarter.
  await clock.advance(3_700);
  assert.equal((await holding.leases.inspect(held.lease.key)).waiting, 50);
  assert.deepEqual([calls, sent.length], [50, 51]);
  await clock.advance(2_600);
  await until(async () => (calls >= 100 ? true : undefined));
  assert.deepEqual(
    [calls, sent.length],
    [100, 101],
    'one poll of each, under the same open request',
  );
  await bob.close();
  for (const wait of waits) assert.notEqual((await wait).kind, 'acquired');
  await ann.close();
  await store.close();
});

test('U-1: a copy of an acquire that comes after another term does not keep the key', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using other = await leasesOf(coordinator, 'default');
  const inner = transportTo({
    url: coordinator.url,
    key: await coordinator.key(ROLE, 'default'),
    stream: false,
  });
  const acquires: (() => Promise<{ readonly kind: string }>)[] = [];
  const transport: Transport = {
    name: 'a queue',
    doubles: true,
    request(message) {
      if (message.kind === 'acquireLease') acquires.push(() => inner.request(message));
      return inner.request(message);
    },
    close: () => inner.close(),
  };
  const store = await openCoordinator({ transport });
  const holder = await openSession({ store, owner: 'holder', ttlMs: 1_000 });
  const next = await openSession({ store: other, owner: 'next' });
  for (const session of [holder, next]) {
    const outcome = await session.acquire('k');
    if (outcome.kind !== 'acquired') assert.fail(outcome.kind);
    await outcome.lease.release('finished');
  }
  assert.equal((await acquires[0]?.())?.kind, 'granted');
  const record = await until(async () => {
    const found = await other.leases.inspect(parseLeaseKey('k'));
    return found.state === 'free' ? found.record : undefined;
  });
  assert.equal(record.end?.exit, 'abandoned');
  assert.deepEqual(holder.leases, []);
  for (const session of [holder, next]) await session.close();
  await store.close();
});

test('M-41: hints between two waits are not lost, and those of other projects never come', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const { store } = coordinator;
  await using own = await leasesOf(coordinator, 'ours');
  await using other = await leasesOf(coordinator, 'theirs');
  const raw = new RawWorker(coordinator.url, await coordinator.key(ROLE, 'ours'), 'ours');
  const hints = (query: string): Promise<Raw> => raw.call('GET', `/v1/work/leases/hints?${query}`);
  const { next } = (await hints('')).json;
  for (const leases of [own, other]) {
    const session = await openSession({ store: leases, owner: 'ann' });
    const outcome = await session.acquire('k');
    assert.ok(outcome.kind === 'acquired');
    await outcome.lease.release('finished');
    await session.close();
  }
  const hinted = (await hints(`after=${next}&waitMs=60000`)).json;
  assert.deepEqual(hinted.keys, ['k']);
  assert.deepEqual((await hints(`after=${hinted.next}`)).json.keys, []);
  // A position of another process gets everything that is kept.
  assert.deepEqual((await hints('after=1000')).json.keys, ['k']);
  assert.ok((await store.leases.list({ limit: 10 })).length === 2);
});

test('M-38: recipes, watchers and children of sessions work through a coordinator', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  await using store = await leasesOf(coordinator, 'ours');
  const session = await openSession({ store, owner: 'ann' });
  const done = await withLease({ session, key: 'job' }, async ({ lease }) => {
    await lease.checkpoint(new Uint8Array([1, 2, 3]));
    return lease.fence;
  });
  assert.equal(done.kind, 'done');
  const again = await session.acquire('job');
  assert.ok(again.kind === 'acquired');
  assert.deepEqual([...(again.lease.restored?.bytes ?? [])], [1, 2, 3]);
  const child = await session.openChild({ owner: 'child of ann' });
  const members = registry({ store, service: 'billing' });
  const self = await members.register({ owner: 'billing@1', metadata: { port: '1' } });
  assert.deepEqual(
    (await members.list()).map(({ owner, metadata }) => [owner, metadata]),
    [['billing@1', { port: '1' }]],
  );
  await self.close();
  const seen: string[] = [];
  for await (const event of watchLeases(store, { pollMs: 10 })) {
    if (event.kind === 'ended' && event.key === 'job') seen.push(event.exit);
    if (seen.length === 1) break;
  }
  assert.deepEqual(seen, ['finished']);
  const worked = new Set<string>();
  const members2 = pool(
    { store, owner: 'p1', name: 'parts', keys: ['1', '2'] },
    async ({ key, signal }) => {
      worked.add(key);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  );
  await until(async () => (worked.size === 2 ? true : undefined));
  await members2.stop();
  const candidate = elect({ store, owner: 'c1', name: 'leader' }, async ({ signal }) => {
    worked.add('leader');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  await until(async () => (worked.has('leader') ? true : undefined));
  await candidate.stop();
  let ended = 0;
  const by = { actor: 'ada', reason: 'closed' };
  for await (const page of revokePrefix({ store, prefix: 'job', ...by })) ended = page.ended;
  assert.equal(ended, 1);
  await session.close();
  assert.ok(child.signal.aborted);
});

test('a sweeper and forced ends belong to the operator of the coordinator', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  await using store = await leasesOf(coordinator, 'ours');
  assert.throws(
    () => startSweeper({ store: store as LeaseService as KernelStore }),
    /sweeps by itself/,
  );
  const session = await openSession({ store, owner: 'ann' });
  await assert.rejects(
    store.sessions.end({
      id: session.id,
      by: { kind: 'operator', actor: 'ada', reason: 'gone' },
    }),
    refusedWith('not-remote'),
  );
  await session.close();
});

test('a key without the role is refused when the store is opened', async () => {
  await using coordinator = await TestCoordinator.onMemory({ maintenance: false });
  const key = await coordinator.key(['work'], 'ours');
  for (const stream of [true, false]) {
    const opening = openCoordinator({ url: coordinator.url, key, stream });
    await assert.rejects(opening, refusedWith('role-missing'));
  }
});

test('P-14: a project above its quota of lease keys gets no new key, and keeps those that it has', async () => {
  await using coordinator = await TestCoordinator.onMemory({
    ...{ maintenance: false, quotas: { leases: 2 } },
  });
  await using store = await leasesOf(coordinator, 'ours');
  await using other = await leasesOf(coordinator, 'theirs');
  const session = await openSession({ store, owner: 'ann' });
  const theirs = await openSession({ store: other, owner: 'bob' });
  const acquire = (key: string, attempt = systemRandom.uuid()) =>
    store.leases.acquire({ key: key as never, session: session.id, attempt: attempt as never });
  const attempt = systemRandom.uuid();
  assert.equal((await acquire('a', attempt)).kind, 'granted');
  assert.equal((await acquire('b')).kind, 'granted');
  await assert.rejects(acquire('c'), /at most 2 lease keys/);
  assert.equal((await acquire('a', attempt)).kind, 'granted');
  assert.equal((await acquire('b')).kind, 'refused');
  assert.equal((await theirs.acquire('c')).kind, 'acquired');
  await session.close();
  await theirs.close();
});
