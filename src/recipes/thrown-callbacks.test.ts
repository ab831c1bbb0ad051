// The user's callbacks may throw anything at any time. The recipe still releases the lease, the
// process continues, and the observer gets a report.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import type { DeclaredExit } from '../lease/exit.ts';
import { openSession, type Session } from '../lease/live-session.ts';
import { type LeaseKey, parseLeaseKey } from '../lease/names.ts';
import type { LeaseReport } from '../lease/observer.ts';
import type { LeaseService } from '../lease/port.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { elect } from './elect.ts';
import { pool } from './pool.ts';
import type { Term } from './run-term.ts';
import { withLease } from './with-lease.ts';

const KEY = parseLeaseKey('k');
const TTL_MS = 9_000;
/** Cutting this text at the limit of a cause would split a character. */
const CUT_IN_TWO = `${'x'.repeat(492)}😀`;
const UNSHOWABLE: unknown = Object.create(null);

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  readonly reports: LeaseReport[];
  readonly options: Parameters<typeof openSession>[0];
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  const reports: LeaseReport[] = [];
  const observer = { report: (report: LeaseReport) => void reports.push(report) };
  const options = {
    ...{ store: faulty.store, owner: 'ann', ttlMs: TTL_MS, observer },
    ...{ clock, timers: clock.timers },
  };
  return { clock, faulty, reports, options };
}

function throws(): never {
  throw new Error('the callback threw');
}

async function endOf(store: LeaseService, key: LeaseKey) {
  const { record } = await store.leases.inspect(key);
  return record?.end;
}

function troubles({ reports }: World): readonly string[] {
  return reports.flatMap((each) => (each.kind === 'troubled' ? [each.cause ?? ''] : []));
}

test('withLease: an exit callback that throws or returns a forbidden exit releases as failed, and withLease rejects', async () => {
  const world = makeWorld();
  const session = await openSession(world.options);
  const exits: readonly (readonly [(value: string) => DeclaredExit, RegExp])[] = [
    [throws, /the callback threw/],
    [() => 'expired' as DeclaredExit, /exit must be one of/],
    [() => UNSHOWABLE as DeclaredExit, /exit must be one of/],
  ];
  for (const [exit, problem] of exits) {
    await assert.rejects(
      withLease({ session, key: KEY, exit }, async () => 'done'),
      problem,
    );
    const end = await endOf(world.options.store, KEY);
    assert.equal(end?.exit, 'failed');
    assert.match(end?.cause ?? '', problem);
  }
});

test('withLease: a forbidden exit is refused before anything is acquired', async () => {
  const world = makeWorld();
  const session = await openSession(world.options);
  const exit = 'expired' as DeclaredExit;
  await assert.rejects(
    withLease({ session, key: KEY, exit }, async () => assert.fail('ran')),
    /exit must be/,
  );
  assert.equal((await world.options.store.leases.inspect(KEY)).record, undefined);
});

for (const [name, thrown] of [
  ['a message that is cut within a character', new Error(CUT_IN_TWO)],
  ['something that cannot be shown', UNSHOWABLE],
  ['an empty text', ''],
  ['a message of nulls', new Error('\0\0')],
] as const) {
  test(`work that throws ${name} releases as failed, in every recipe`, async () => {
    const world = makeWorld();
    const work = async (): Promise<void> => {
      throw thrown;
    };
    const session = await openSession(world.options);
    await assert.rejects(withLease({ session, key: KEY }, work), (error) => error === thrown);
    assert.equal((await endOf(world.options.store, KEY))?.exit, 'failed');
    const election = elect({ ...world.options, name: 'led', retryMs: 60_000 }, work);
    const member = pool({ ...world.options, name: 'p', keys: ['k'] }, work);
    await world.clock.advance(100);
    assert.equal((await endOf(world.options.store, parseLeaseKey('led')))?.exit, 'failed');
    assert.equal((await endOf(world.options.store, parseLeaseKey('p/k')))?.exit, 'failed');
    const stopping = Promise.all([election.stop(), member.stop()]);
    await world.clock.advance(1_000);
    await stopping;
  });
}

for (const [name, callback] of [
  ['throws', throws],
  ['rejects', async () => throws()],
] as const) {
  test(`elect: an onError and an onState that ${name} neither end the candidate nor keep the lead`, async () => {
    const world = makeWorld();
    const callbacks = { onError: callback, onState: callback };
    let led = 0;
    const election = elect({ ...world.options, name: 'led', ...callbacks }, async () => {
      led += 1;
      throw new Error('the work threw');
    });
    await world.clock.advance(5_000);
    assert.ok(led > 1, 'it stood again');
    assert.equal((await endOf(world.options.store, parseLeaseKey('led')))?.exit, 'failed');
    assert.match(troubles(world).join(), /the callback threw/);
    const stopping = election.stop();
    await world.clock.advance(1_000);
    await stopping;
    assert.equal(election.state, 'stopped');
  });

  test(`pool: an onError and an isPermanent that ${name} do not keep the key`, async () => {
    const world = makeWorld();
    const callbacks = {
      onError: callback,
      isPermanent: callback as unknown as () => boolean,
    };
    const options = { ...world.options, name: 'p', keys: ['k'], ...callbacks };
    let worked = 0;
    const member = pool(options, async () => {
      worked += 1;
      throw new Error('the work threw');
    });
    await world.clock.advance(20_000);
    assert.ok(worked > 1, 'it was worked on again');
    assert.deepEqual(member.dropped, []);
    assert.match(troubles(world).join(), /the callback threw/);
    const stopping = member.stop();
    await world.clock.advance(1_000);
    await stopping;
  });
}

test('an onOverrun that throws does not keep the leases of the session after a lapse', async () => {
  const world = makeWorld();
  const untilAborted = async ({ signal }: Term): Promise<void> => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await world.clock.timers.pause(50);
  };
  const session = await openSession(world.options);
  const options = { onOverrun: throws, clock: world.clock, timers: world.clock.timers };
  const running = withLease({ session, key: KEY, ...options }, untilAborted);
  const member = pool(
    { ...world.options, name: 'p', keys: ['k'], onOverrun: throws, balanceMs: 60_000 },
    untilAborted,
  );
  await world.clock.advance(100);
  await lapse(world);
  assert.equal((await running).kind, 'lost');
  assert.equal((await endOf(world.options.store, KEY))?.exit, 'abandoned');
  assert.equal((await endOf(world.options.store, parseLeaseKey('p/k')))?.exit, 'abandoned');
  assert.match(troubles(world).join(), /the callback threw/);
  const stopping = Promise.all([member.stop(), session.close()]);
  await world.clock.advance(1_000);
  await stopping;
});

/** An outage that is longer than the authority and shorter than the ttl. */
async function lapse(world: World): Promise<void> {
  world.faulty.failAll('unavailable');
  await world.clock.advance(TTL_MS - 1_000);
  world.faulty.heal();
  await world.clock.advance(2_000);
}

test('O-4: drain listeners and observers that throw or reject affect nothing', async () => {
  const world = makeWorld();
  const reported: string[] = [];
  const observer = {
    report: async (report: LeaseReport): Promise<void> => {
      reported.push(`${report.kind} ${'cause' in report ? report.cause : ''}`);
      throws();
    },
  };
  const session: Session = await openSession({ ...world.options, observer });
  const got = await session.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  const called: string[] = [];
  got.lease.onDrain(throws);
  got.lease.onDrain(() => Promise.reject(new Error('the callback threw')) as never);
  got.lease.onDrain(() => called.push('the third listener'));
  const { key, fence } = got.lease;
  const drain = { actor: 'olga', reason: 'deploy', deadlineMs: 60_000 };
  const request = '00000000-0000-4000-8000-000000000001' as never;
  await world.options.store.leases.requestDrain({ key, fence, request, ...drain });
  await world.clock.advance(TTL_MS);
  assert.deepEqual(called, ['the third listener']);
  const troubles = reported.filter((each) =>
    /troubled onDrain: Error: the callback threw/.test(each),
  );
  assert.equal(troubles.length, 2);
  assert.equal((await session.close()).kind, 'ended');
});
