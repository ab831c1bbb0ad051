// A fault that no store should throw. Long-running recipes report it and try again. They end only
// for faults that trying again cannot help.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openSession, SessionRefused } from '../lease/live-session.ts';
import { parseLeaseKey, type SessionId } from '../lease/names.ts';
import type { LeaseReport } from '../lease/observer.ts';
import type { KernelStore } from '../lease/port.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { elect } from './elect.ts';
import { pool } from './pool.ts';
import type { Term } from './run-term.ts';
import { withLease } from './with-lease.ts';

const TTL_MS = 9_000;
const REJECTED = 'permission denied for table session';

interface World {
  readonly clock: ManualClock;
  readonly store: KernelStore;
  readonly errors: unknown[];
  readonly reports: LeaseReport[];
  readonly options: Parameters<typeof openSession>[0];
  /** The number of next calls that fail, by verb. */
  readonly failing: Map<string, number>;
}

function makeWorld(): World {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const failing = new Map<string, number>();
  const reports: LeaseReport[] = [];
  const rejecting: KernelStore = {
    ...store,
    sessions: rejectingAs(failing, 'sessions', store.sessions),
    leases: rejectingAs(failing, 'leases', store.leases),
  };
  const observer = { report: (report: LeaseReport) => void reports.push(report) };
  const options = {
    ...{ store: rejecting, owner: 'ann', ttlMs: TTL_MS, observer },
    ...{ clock, timers: clock.timers },
  };
  return { clock, store, errors: [], reports, options, failing };
}

function rejectingAs<Port extends object>(
  failing: Map<string, number>,
  name: string,
  port: Port,
): Port {
  type Verb = (argument: unknown) => Promise<unknown>;
  const verbs = Object.entries(port as Record<string, Verb>).map(([verb, call]) => [
    verb,
    async (argument: unknown) => {
      const left = failing.get(`${name}.${verb}`) ?? 0;
      failing.set(`${name}.${verb}`, left - 1);
      if (left > 0) throw new Error(REJECTED);
      return call(argument);
    },
  ]);
  return Object.fromEntries(verbs) as Port;
}

const untilAborted = async ({ signal }: Term): Promise<void> => {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
};

async function stopped(world: World, stopping: Promise<unknown>): Promise<void> {
  await world.clock.advance(10_000);
  await stopping;
}

for (const verb of ['sessions.open', 'leases.acquire', 'sessions.heartbeat']) {
  test(`elect continues after a few unexpected faults of ${verb}, and reports them`, async () => {
    const world = makeWorld();
    world.failing.set(verb, 3);
    const onError = (error: unknown): number => world.errors.push(error);
    const election = elect({ ...world.options, name: 'led', onError }, untilAborted);
    await world.clock.advance(30_000);
    assert.equal(election.state, 'leading');
    // A failed heartbeat has no effect yet, so only the observer gets a report.
    assert.equal(world.errors.length, verb === 'sessions.heartbeat' ? 0 : 3);
    const troubled = world.reports.filter(({ kind }) => kind === 'troubled');
    assert.equal(troubled.length, 3);
    await stopped(world, election.stop());
    assert.equal(election.state, 'stopped');
  });
}

test('U-1: a release that fails unexpectedly is tried until it is done, in every recipe', async () => {
  const world = makeWorld();
  const session = await openSession(world.options);
  world.failing.set('leases.release', 2);
  await assert.rejects(
    withLease({ session, key: 'k' }, async () => 'done'),
    /permission denied/,
  );
  await world.clock.advance(TTL_MS);
  assert.equal((await world.store.leases.inspect(parseLeaseKey('k'))).state, 'free');

  world.failing.set('leases.release', 2);
  const onError = (_: unknown, error: unknown): number => world.errors.push(error);
  const options = { ...world.options, name: 'p', keys: ['k'], onError, balanceMs: 60_000 };
  const member = pool(options, async () => undefined);
  await world.clock.advance(TTL_MS);
  assert.deepEqual(member.held, []);
  assert.equal((await world.store.leases.inspect(parseLeaseKey('p/k'))).state, 'free');
  assert.equal(world.errors.length, 1);
  await stopped(world, member.stop());
});

for (const verb of ['sessions.open', 'sessions.list', 'leases.list', 'leases.acquire']) {
  test(`pool continues after a few unexpected faults of ${verb}, and reports them`, async () => {
    const world = makeWorld();
    world.failing.set(verb, 3);
    const onError = (key: unknown, error: unknown): number => world.errors.push([key, error]);
    const member = pool({ ...world.options, name: 'p', keys: ['k'], onError }, untilAborted);
    await world.clock.advance(30_000);
    assert.deepEqual([member.state, member.held], ['running', ['k']]);
    assert.deepEqual(
      world.errors.map((each) => String(each)),
      Array(3).fill(`,Error: ${REJECTED}`),
    );
    await stopped(world, member.stop());
    assert.equal(member.state, 'stopped');
  });
}

test('a session that is refused for good shows in the state, and stop still works', async () => {
  const world = makeWorld();
  const refusal = { why: 'session-duplicate', session: 's' as SessionId } as const;
  const store: KernelStore = {
    ...world.store,
    sessions: { ...world.store.sessions, open: async () => ({ kind: 'refused', ...refusal }) },
  };
  const options = { ...world.options, store };
  const onError = (...args: unknown[]): number => world.errors.push(args.at(-1));
  const election = elect({ ...options, name: 'led', onError }, untilAborted);
  const member = pool({ ...options, name: 'p', keys: ['k'], onError }, untilAborted);
  await world.clock.advance(60_000);
  assert.deepEqual([election.state, member.state], ['failed', 'failed']);
  assert.equal(world.errors.length, 2, 'once each');
  assert.ok(world.errors.every((error) => error instanceof SessionRefused));
  await stopped(world, Promise.all([election.stop(), member.stop()]));
  assert.deepEqual([election.state, member.state], ['failed', 'failed']);
});

test('a session that cannot be ended is left to expire, and stop resolves', async () => {
  const world = makeWorld();
  const election = elect({ ...world.options, name: 'led' }, untilAborted);
  const member = pool({ ...world.options, name: 'p', keys: ['k'] }, untilAborted);
  await world.clock.advance(1_000);
  world.failing.set('sessions.end', 2);
  await stopped(world, Promise.all([election.stop(), member.stop()]));
  assert.deepEqual([election.state, member.state], ['stopped', 'stopped']);
});

test('R-1: a refusal with the reason that the session is over ends it, whichever call it answers', async () => {
  const world = makeWorld();
  const session = await openSession(world.options);
  const by = { kind: 'operator', actor: 'olga', reason: 'drill' } as const;
  await world.store.sessions.end({ id: session.id, by });
  const got = await session.acquire('k');
  assert.ok(got.kind === 'refused' && got.why === 'session-ended');
  assert.equal(session.signal.aborted, true, 'without waiting for a heartbeat');
  await world.clock.settle();
  assert.equal(world.reports.filter(({ kind }) => kind === 'lost').length, 1);
});

test('E-6: a refusal with the reason overdue does not end the session: the store may still extend it', async () => {
  const world = makeWorld();
  const session = await openSession(world.options);
  world.failing.set('sessions.heartbeat', 1_000_000);
  await world.clock.advance(2 * TTL_MS);
  const got = await session.acquire('k');
  assert.ok(got.kind === 'refused' && got.why === 'session-expired');
  assert.equal(session.signal.aborted, false);
  await world.store.sessions.recover({ cause: 'the store was away' });
  world.failing.clear();
  await world.clock.advance(TTL_MS / 3);
  assert.ok(session.remainingMs() > 0, 'its heartbeats go on');
  assert.equal(session.signal.aborted, false);
});
