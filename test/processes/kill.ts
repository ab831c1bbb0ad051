import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { parseLeaseKey, parseOwner, parseSessionId } from '../../src/index.ts';
import { parseAttemptId, parseEffectId } from '../../src/lease/names.ts';
import type { Acquire, SaveCheckpoint, Tenure } from '../../src/lease/port.ts';
import { digestOf } from '../../src/support/digest.ts';
import type { PortClientApi, Verb } from './children/port-client.ts';
import type { SaverApi } from './children/saver.ts';
import type { WorkerApi } from './children/worker-api.ts';
import type { Backend } from './stage/backend.ts';
import type { Child } from './stage/child.ts';
import { Stage } from './stage/stage.ts';

const TTL_MS = 2_000;
const KEY = parseLeaseKey('invoice-17');
const OWNER = parseOwner('victim');
const EFFECT = parseEffectId('charge:invoice-17');

export function registerKill(backend: Backend): void {
  describe(`SIGKILL between commit and reply on ${backend.name}`, () => {
    after(() => backend.end());

    test('P3, A-3: an acquire whose answer was lost returns the same term when repeated', () =>
      loseAcquire(backend));

    test('P3, K-2: a checkpoint whose answer was lost is stored, and its repetition is a replay', () =>
      loseCheckpoint(backend));

    test('P3, K-6: an intent whose answer was lost is open, and the successor gets it', () =>
      loseIntent(backend));

    test('P3, L-2: a release whose answer was lost has happened, and the successor enters at once', () =>
      loseRelease(backend));

    test('P3, L-2: the end of a session whose answer was lost has happened, once', () =>
      loseEndOfSession(backend));

    test('P3: every acknowledged checkpoint survives a kill at any moment', () =>
      killWhileSaving(backend));
  });
}

/** A session, the process that will die in it, and one that stands by to repeat the call. */
interface Scene {
  readonly victim: Child<PortClientApi>;
  readonly survivor: Child<PortClientApi>;
  readonly acquire: Acquire;
  heartbeat(): Promise<void>;
}

async function prepare(stage: Stage): Promise<Scene> {
  const victim = stage.start<PortClientApi>('children/port-client.ts');
  const survivor = stage.start<PortClientApi>('children/port-client.ts');
  await Promise.all([victim, survivor].map((child) => child.call('connect', stage.address)));
  const id = parseSessionId(randomUUID());
  const graceMs = 300;
  await victim.call('openSession', { id, owner: OWNER, ttlMs: TTL_MS, graceMs, metadata: {} });
  return {
    victim,
    survivor,
    acquire: { key: KEY, session: id, attempt: parseAttemptId(randomUUID()) },
    async heartbeat() {
      const answer = await survivor.call('heartbeat', { id, owner: OWNER });
      assert.equal(answer.kind, 'alive');
    },
  };
}

async function dying(
  victim: Child<PortClientApi>,
  verb: Verb,
  operation: () => unknown,
): Promise<void> {
  await victim.call('dieAfter', verb);
  operation();
  assert.deepEqual(await victim.exit, { code: null, signal: 'SIGKILL' });
}

async function granted(child: Child<PortClientApi>, acquire: Acquire): Promise<Tenure> {
  const answer = await child.call('acquire', acquire);
  assert.equal(answer.kind, 'granted');
  return { key: KEY, fence: answer.fence, session: acquire.session };
}

async function loseAcquire(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { victim, survivor, acquire, heartbeat } = await prepare(stage);
  await dying(victim, 'acquire', () => victim.call('acquire', acquire));
  await heartbeat();
  const { record } = await stage.store.leases.inspect(KEY);
  assert.equal(record?.session, acquire.session, 'the grant was committed');

  const again = await survivor.call('acquire', acquire);
  assert.equal(again.kind, 'granted');
  assert.equal(again.replayed, true);
  assert.equal(again.fence, record?.fence);

  const other = await survivor.call('acquire', {
    ...acquire,
    attempt: parseAttemptId(randomUUID()),
  });
  assert.equal(other.kind, 'refused', 'another attempt of the same session is another try');
  const page = await stage.store.leases.events({ after: 0, limit: 100 });
  assert.equal(page.kind, 'events');
  assert.equal(page.events.filter((event) => event.kind === 'acquired').length, 1);
}

async function loseCheckpoint(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { victim, survivor, acquire, heartbeat } = await prepare(stage);
  const tenure = await granted(victim, acquire);
  const request = checkpointOf(tenure, 'page 3');
  await dying(victim, 'checkpoint', () => victim.call('checkpoint', request));
  await heartbeat();
  const again = await survivor.call('checkpoint', request);
  assert.deepEqual(again, { kind: 'saved', replayed: true });
  const differing = await survivor.call('checkpoint', checkpointOf(tenure, 'page 4'));
  assert.ok(differing.kind === 'refused' && differing.why === 'seq-conflict');
  const successor = await takeOver(stage);
  assert.equal(successor.exit, 'expired');
  assert.equal(successor.restored, 'page 3');
  assert.ok(successor.fence > tenure.fence);
}

async function loseIntent(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { victim, survivor, acquire, heartbeat } = await prepare(stage);
  const tenure = await granted(victim, acquire);
  const request = { ...tenure, effect: EFFECT };
  await dying(victim, 'beginIntent', () => victim.call('beginIntent', request));
  await heartbeat();
  const again = await survivor.call('beginIntent', request);
  assert.deepEqual(again, { kind: 'begun', replayed: true });
  const successor = await takeOver(stage);
  assert.equal(successor.exit, 'expired');
  assert.deepEqual(successor.intents, [EFFECT]);
  assert.ok(successor.fence > tenure.fence);
}

async function loseRelease(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { victim, survivor, acquire, heartbeat } = await prepare(stage);
  const tenure = await granted(victim, acquire);
  const request = { ...tenure, exit: 'yielded' } as const;
  await dying(victim, 'release', () => victim.call('release', request));
  await heartbeat();
  const again = await survivor.call('release', request);
  assert.deepEqual(again, { kind: 'released', replayed: true });
  const successor = await takeOver(stage, { wait: false });
  assert.equal(successor.exit, 'yielded');
  assert.ok(successor.fence > tenure.fence);
  const late = await survivor.call('release', request);
  assert.ok(
    late.kind === 'refused' && late.why === 'superseded',
    'a release repeated after the takeover does not end the successor',
  );
  const { state, record } = await stage.store.leases.inspect(KEY);
  assert.deepEqual([state, record?.fence], ['held', successor.fence]);
}

async function loseEndOfSession(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const { victim, survivor, acquire } = await prepare(stage);
  const tenure = await granted(victim, acquire);
  const by = { kind: 'owner', owner: OWNER, exit: 'abandoned' } as const;
  const request = { id: acquire.session, by };
  await dying(victim, 'endSession', () => victim.call('endSession', request));
  assert.deepEqual(await survivor.call('endSession', request), { kind: 'ended', replayed: true });
  const successor = await takeOver(stage, { wait: false });
  assert.equal(successor.exit, 'abandoned');
  assert.ok(successor.fence > tenure.fence);
}

async function killWhileSaving(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  for (const killAfter of [1, 7, 40]) {
    const key = `key-${killAfter}`;
    const saver = stage.start<SaverApi>('children/saver.ts');
    let acknowledged = 0;
    saver.on('saved', (number) => {
      acknowledged = Number(number);
      if (acknowledged === killAfter) void saver.kill();
    });
    void saver.call('save', { store: stage.address, key });
    assert.deepEqual(await saver.exit, { code: null, signal: 'SIGKILL' });
    const { record } = await stage.store.leases.inspect(parseLeaseKey(key));
    const stored = Number(Buffer.from(record?.checkpoint?.bytes ?? []).toString());
    assert.ok(acknowledged >= killAfter);
    assert.ok(stored >= acknowledged, `${stored} is stored, ${acknowledged} was acknowledged`);
  }
}

function checkpointOf(tenure: Tenure, text: string): SaveCheckpoint {
  const bytes = Buffer.from(text);
  return { ...tenure, seq: 1, bytes, digest: digestOf(bytes) };
}

async function takeOver(stage: Stage, { wait } = { wait: true }) {
  const successor = stage.start<WorkerApi>('children/worker.ts');
  await successor.call('open', { store: stage.address, owner: 'successor', ttlMs: TTL_MS });
  const taken = await successor.call('acquire', { key: KEY, wait });
  assert.equal(taken.kind, 'acquired');
  return taken;
}
