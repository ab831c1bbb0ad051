import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseLeaseKey, parseRequestId } from '../../src/index.ts';
import type { Overrun } from '../../src/recipes/index.ts';
import type { Taken, WorkerApi } from '../processes/children/worker-api.ts';
import type { Backend } from '../processes/stage/backend.ts';
import type { Child } from '../processes/stage/child.ts';
import { Stage } from '../processes/stage/stage.ts';
import { until } from '../processes/stage/until.ts';
import { isFullRun } from '../services/tier.ts';
import { ChildEvents } from './child-events.ts';
import type { Block, ProverApi } from './children/prover.ts';

const TTL_MS = 1_200;
const KEY = 'report';
const REQUEST = parseRequestId('00000000-0000-4000-8000-000000000001');

export function registerWatchdogSession(backend: Backend): void {
  describe(`watchdog session on ${backend.name}`, () => {
    after(() => backend.end());

    test('R-7: an event loop that is blocked for three ttls within a busy section keeps its lease', () =>
      keepWhileAnnounced(backend, false));

    test('R-7: a child session keeps its lease through the busy section too', () =>
      keepWhileAnnounced(backend, true));

    test('R-7: an event loop that is blocked without an announcement loses its lease', () =>
      loseTo(backend, { key: KEY, ms: 3 * TTL_MS }));

    // The rest does not depend on the store; one store is enough for every run.
    if (backend.name !== 'sqlite' && !isFullRun()) return;

    test('R-7: an event loop that is blocked for longer than announced loses its lease', () =>
      loseTo(backend, { key: KEY, ms: 4 * TTL_MS, announcedMs: TTL_MS }));

    test('R-7: a child session loses its lease with its parent', () =>
      loseTo(backend, { key: KEY, ms: 3 * TTL_MS, below: true }));

    test('overrun: work that continues without authority is reported', () =>
      reportOverrun(backend));

    test('overrun: with exitOnOverrun the process ends, by SIGKILL', () => exitOnOverrun(backend));

    test('overrun: with exitOnOverrun of the session its thread ends a wedged process', () =>
      exitWhenWedged(backend));

    test('overrun: within a busy section the thread ends nothing', () =>
      keepWhileAnnounced(backend, false, true));
  });
}

interface Scene {
  readonly prover: Child<ProverApi>;
  /** The contender's outcome, or undefined if it has none yet. */
  readonly taken: () => Taken | undefined;
}

/** A contender waits in the queue when the prover begins to block. */
async function contend(
  stage: Stage,
  block: Block,
  exits = false,
): Promise<Scene & { blocked: Promise<string> }> {
  const prover = await openProver(stage, exits);
  const contender = stage.start<WorkerApi>('children/worker.ts');
  await contender.call('open', { store: stage.address, owner: 'contender', ttlMs: TTL_MS });
  const blocking = prover.next('blocking');
  const blocked = prover.call('block', block);
  await Promise.race([blocking, blocked]);
  let taken: Taken | undefined;
  void contender.call('acquire', { key: KEY, wait: true }).then((answer) => {
    taken = answer;
  });
  await until('the contender is in the queue', async () => (await inspect(stage)).waiting === 1);
  return { prover, blocked, taken: () => taken };
}

async function openProver(stage: Stage, exits = false): Promise<Child<ProverApi>> {
  const prover = stage.start<ProverApi>('../recipes/children/prover.ts');
  await prover.call('open', { store: stage.address, ttlMs: TTL_MS, exitOnOverrun: exits });
  return prover;
}

function inspect(stage: Stage) {
  return stage.store.leases.inspect(parseLeaseKey(KEY));
}

async function keepWhileAnnounced(backend: Backend, below: boolean, exits = false): Promise<void> {
  await using stage = await Stage.on(backend);
  const block = { key: KEY, ms: 3 * TTL_MS, announcedMs: 10 * TTL_MS, below };
  const { prover, blocked, taken } = await contend(stage, block, exits);
  assert.equal(await blocked, 'held', 'the first line after the block is still allowed to act');
  assert.equal(taken(), undefined, 'no other process got it');
  assert.equal(await prover.call('release', { key: KEY }), 'released');
  await until('the contender has it', () => taken() !== undefined);
  assert.equal(taken()?.exit, 'finished');
}

async function loseTo(backend: Backend, block: Block): Promise<void> {
  await using stage = await Stage.on(backend);
  const { blocked, taken } = await contend(stage, block);
  await until('the contender has it', () => taken() !== undefined);
  assert.equal(taken()?.exit, 'expired');
  assert.equal(await blocked, 'lapsed', 'the first line after the block finds out');
}

async function exitWhenWedged(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const block = { key: KEY, ms: 3_600_000 };
  const { prover, blocked, taken } = await contend(stage, block, true);
  blocked.catch(() => undefined);
  assert.deepEqual(await prover.exit, { code: null, signal: 'SIGKILL' });
  await until('the contender has it', () => taken() !== undefined);
  assert.equal(taken()?.exit, 'expired');
}

async function startStubborn(stage: Stage, exitOnOverrun: boolean) {
  const prover = await openProver(stage);
  const overruns = new ChildEvents<Overrun>(prover, 'overrun');
  const working = prover.next('working');
  const outcome = prover.call('beStubborn', { key: KEY, settleMs: 300, exitOnOverrun });
  await Promise.race([working, outcome]);
  const { record } = await inspect(stage);
  assert.ok(record !== undefined);
  const { key, fence } = record;
  const revoke = { key, fence, request: REQUEST, actor: 'olga', reason: 'drill' };
  assert.equal((await stage.store.leases.revoke(revoke)).kind, 'revoked');
  return { prover, overruns, outcome };
}

async function reportOverrun(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { prover, overruns, outcome } = await startStubborn(stage, false);
  const overrun = await overruns.first('it is reported');
  assert.equal(overrun.key, KEY);
  assert.equal(overrun.settled, false);
  assert.ok(overrun.ms >= 290, `${overrun.ms} ms`);
  assert.equal(await outcome, 'lost');
  // It lives, since it answers.
  await prover.call('open', { store: stage.address, ttlMs: TTL_MS });
}

async function exitOnOverrun(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { prover } = await startStubborn(stage, true);
  assert.deepEqual(await prover.exit, { code: null, signal: 'SIGKILL' });
}
