// Semaphore, read-write lock and once, on a store: their order, their limits, and holders that are
// killed and frozen.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { SqliteGuard } from '../../src/guards/sqlite.ts';
import { type Fence, openSession, parseLeaseKey, type Session } from '../../src/index.ts';
import { once, withPermits, withReadLock, withWriteLock } from '../../src/recipes/index.ts';
import type { Backend } from '../processes/stage/backend.ts';
import { Stage } from '../processes/stage/stage.ts';
import { until } from '../processes/stage/until.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import type { PermitHolderApi } from './children/permit-holder.ts';

const TTL_MS = 2_500;
const CHILD = '../recipes/children/permit-holder.ts';

export function registerSemaphore(backend: Backend): void {
  describe(`semaphores on ${backend.name}`, () => {
    after(() => backend.end());

    test('A-7: permits go to callers in their order, and a large caller is not overtaken', () =>
      keepOrder(backend));
    test('many callers at once never have more permits than there are', () => keepTotal(backend));
    test('S-1: permits of a killed holder are free within the ttl and 2 s', () =>
      replaceHolder(backend, 'kill'));
    test('P2: a frozen holder has lost its permits when it wakes', () =>
      replaceHolder(backend, 'freeze'));
    test('readers share a lock, writers do not, and guards order the writers', () =>
      readAndWrite(backend));
    test('once runs a function once per key, and again after a failure or a kill', () =>
      runOnce(backend));
  });
}

class Callers implements AsyncDisposable {
  readonly stage: Stage;
  /** The names of callers that have begun, in order. */
  readonly begun: string[] = [];
  readonly #sessions: Session[] = [];

  constructor(stage: Stage) {
    this.stage = stage;
  }

  async open(owner: string): Promise<Session> {
    const session = await openSession({ store: this.stage.store, owner, ttlMs: TTL_MS });
    this.#sessions.push(session);
    return session;
  }

  async hasBegun(name: string): Promise<void> {
    await until(`${name} begins`, () => this.begun.includes(name));
  }

  /** The number of callers in the queue behind the first. */
  async queue(semaphore: string, count: number): Promise<void> {
    const key = parseLeaseKey(`${semaphore}/queue`);
    await until(`${count} wait in the queue`, async () => {
      const { waiting, state } = await this.stage.store.leases.inspect(key);
      return state === 'held' && waiting === count;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) await session.close('abandoned');
    await this.stage[Symbol.asyncDispose]();
  }
}

async function callersOn(backend: Backend): Promise<Callers> {
  return new Callers(await Stage.on(backend));
}

interface Working {
  readonly outcome: Promise<{ readonly kind: string }>;
  finish(): void;
}

type Recipe = typeof withReadLock;

async function call(callers: Callers, name: string, recipe: Recipe): Promise<Working> {
  const session = await callers.open(name);
  const work = Promise.withResolvers<void>();
  const outcome = recipe({ session, name: 'lock' }, async () => {
    callers.begun.push(name);
    await work.promise;
  });
  return { outcome, finish: () => work.resolve() };
}

const weighing =
  (weight: number): Recipe =>
  (options, work) =>
    withPermits({ ...options, permits: 3, weight }, work);

async function keepOrder(backend: Backend): Promise<void> {
  await using callers = await callersOn(backend);
  const two = await call(callers, 'two', weighing(2));
  await callers.hasBegun('two');
  const one = await call(callers, 'one', weighing(1));
  await callers.hasBegun('one');
  const three = await call(callers, 'three', weighing(3));
  await callers.queue('lock', 0);
  const late = await call(callers, 'late', weighing(1));
  await callers.queue('lock', 1);
  two.finish();
  await two.outcome;
  // Two permits are free now, and the late caller needs one. The large caller goes first.
  await callers.queue('lock', 1);
  one.finish();
  await callers.hasBegun('three');
  assert.deepEqual(callers.begun, ['two', 'one', 'three']);
  three.finish();
  await callers.hasBegun('late');
  late.finish();
  const kinds = await Promise.all([two, one, three, late].map(({ outcome }) => outcome));
  assert.deepEqual(new Set(kinds.map(({ kind }) => kind)), new Set(['done']));
}

async function keepTotal(backend: Backend): Promise<void> {
  await using callers = await callersOn(backend);
  const weights = [1, 2, 3, 1, 2, 1];
  let used = 0;
  let most = 0;
  const run = async (weight: number, at: number): Promise<void> => {
    const session = await callers.open(`caller-${at}`);
    const options = { session, name: 'total', permits: 3, weight };
    const outcome = await withPermits(options, async ({ permits, assertHeld }) => {
      assert.equal(new Set(permits.map(({ key }) => key)).size, weight);
      used += weight;
      most = Math.max(most, used);
      assertHeld(0);
      await new Promise((resolve) => setImmediate(resolve));
      used -= weight;
    });
    assert.equal(outcome.kind, 'done');
  };
  await Promise.all(weights.map(run));
  assert.equal(most, 3);
  const session = await callers.open('other');
  const other = withPermits({ session, name: 'total', permits: 4 }, async () => undefined);
  await assert.rejects(other, /has 3 permits, and this caller passes 4/);
  const stopped = withPermits(
    { session, name: 'total', permits: 3, signal: AbortSignal.abort() },
    async () => undefined,
  );
  assert.equal((await stopped).kind, 'cancelled');
}

async function replaceHolder(backend: Backend, how: 'kill' | 'freeze'): Promise<void> {
  await using callers = await callersOn(backend);
  const { stage } = callers;
  const child = stage.start<PermitHolderApi>(CHILD);
  const semaphore = { name: 'slots', permits: 2, weight: 2 };
  const before = await child.call('hold', { store: stage.address, ttlMs: TTL_MS, ...semaphore });
  const session = await callers.open('successor');
  const fences = new Map<string, Fence>();
  const late = await withPermits({ session, ...semaphore, timeoutMs: 0 }, async () => undefined);
  assert.equal(late.kind, 'timed-out');
  const outcome = withPermits({ session, ...semaphore }, async ({ permits }) => {
    for (const { key, fence } of permits) fences.set(key, fence);
  });
  await callers.queue('slots', 0);
  const startedAt = performance.now();
  if (how === 'kill') await child.kill();
  else child.freeze();
  assert.equal((await outcome).kind, 'done');
  assert.ok(performance.now() - startedAt < recoveryBoundMs(TTL_MS));
  for (const [key, fence] of before) assert.ok((fences.get(key) ?? 0) > fence, key);
  if (how === 'kill') return;
  child.thaw();
  assert.equal(await child.call('isHeld', null), false);
}

async function readAndWrite(backend: Backend): Promise<void> {
  await using callers = await callersOn(backend);
  const few =
    (recipe: Recipe): Recipe =>
    (options, work) =>
      recipe({ ...options, readersMax: 3 }, work);
  const ann = await call(callers, 'ann reads', few(withReadLock));
  await callers.hasBegun('ann reads');
  const bob = await call(callers, 'bob reads', few(withReadLock));
  await callers.hasBegun('bob reads');
  const eve = await call(callers, 'eve writes', few(withWriteLock));
  await callers.queue('lock', 0);
  const kim = await call(callers, 'kim reads', few(withReadLock));
  await callers.queue('lock', 1);
  for (const reader of [ann, bob]) reader.finish();
  await callers.hasBegun('eve writes');
  assert.equal(callers.begun.length, 3, 'a reader waits behind the writer');
  eve.finish();
  await callers.hasBegun('kim reads');
  kim.finish();
  await Promise.all([ann, bob, eve, kim].map(({ outcome }) => outcome));

  const guard = new SqliteGuard();
  const database = new DatabaseSync(':memory:');
  database.exec(guard.createTable);
  const session = await callers.open('writer');
  const fences: Fence[] = [];
  for (let round = 0; round < 2; round += 1) {
    await withWriteLock({ session, name: 'lock', readersMax: 3 }, async ({ fence }) => {
      fences.push(fence);
      assert.equal(guard.admit(database, { key: 'lock', fence }).kind, 'current');
    });
  }
  const [first = 0 as Fence] = fences;
  assert.equal(guard.admit(database, { key: 'lock', fence: first }).kind, 'stale');
}

async function runOnce(backend: Backend): Promise<void> {
  await using callers = await callersOn(backend);
  const { stage } = callers;
  const sessions = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => callers.open(owner)));
  const [session] = sessions;
  assert.ok(session);
  let runs = 0;
  const failing = once({ session, key: 'invoice' }, async () => {
    runs += 1;
    throw new Error('no number');
  });
  await assert.rejects(failing, /no number/);
  const number = async (): Promise<{ at: Date }> => {
    runs += 1;
    return { at: new Date(0) };
  };
  const outcomes = await Promise.all(
    sessions.map((each) => once({ session: each, key: 'invoice' }, number)),
  );
  assert.equal(runs, 2, 'once after the failure');
  const values = outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.value : outcome));
  assert.equal(values.filter((value) => 'isStored' in value && !value.isStored).length, 1);
  for (const value of values) {
    assert.deepEqual('value' in value && value.value, { at: '1970-01-01T00:00:00.000Z' });
  }

  const child = stage.start<PermitHolderApi>(CHILD);
  await child.call('begin', { store: stage.address, name: 'charge', ttlMs: TTL_MS });
  const waiting = once({ session, key: 'charge' }, async ({ lease }) => lease.predecessor.exit);
  await child.kill();
  const taken = await waiting;
  assert.deepEqual(taken.kind === 'done' && taken.value, { value: 'expired', isStored: false });
  const large = once({ session, key: 'large' }, async () => 'x'.repeat(300_000));
  await assert.rejects(large, /was not stored.*300/);
}
