import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Backend } from '../processes/stage/backend.ts';
import type { Child } from '../processes/stage/child.ts';
import { Stage } from '../processes/stage/stage.ts';
import { until } from '../processes/stage/until.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { ChildEvents } from './child-events.ts';
import type { Change, NodeApi } from './children/node.ts';

const TTL_MS = 1_200;
/** Half of the ttl, so that a member is suspect long enough to be seen. */
const LIFE = { ttlMs: TTL_MS, graceMs: TTL_MS / 2 };

export function registerRegistry(backend: Backend): void {
  describe(`registry on ${backend.name}`, () => {
    after(() => backend.end());

    test('P4: a killed node is suspect, then gone, as seen by another process', () =>
      killNode(backend));

    test('G-3: a node that is frozen and thawed in time is suspect and recovers', () =>
      freezeIntoGrace(backend));

    test('a node that is frozen for longer is gone; thawed, it does not come back by itself', () =>
      freezeForLonger(backend));

    test('E-8: when most nodes die at once they stay suspect, and are gone after a bound', () =>
      killMost(backend));
  });
}

async function start(
  stage: Stage,
  policy: { readonly breakerHoldMs?: number } = {},
): Promise<Child<NodeApi>> {
  const child = stage.start<NodeApi>('../recipes/children/node.ts');
  await child.call('connect', { store: stage.address, policy });
  return child;
}

async function watchFrom(child: Child<NodeApi>): Promise<ChildEvents<Change>> {
  const changes = new ChildEvents<Change>(child, 'change');
  await child.call('watch', null);
  return changes;
}

async function killNode(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const [watcher, victim] = [await start(stage), await start(stage)];
  const changes = await watchFrom(watcher);
  await victim.call('register', { ...LIFE, owner: 'node-1', metadata: { zone: 'a' } });
  const joined = await changes.first('it joined', ({ kind }) => kind === 'joined');
  assert.deepEqual(joined, { kind: 'joined', owner: 'node-1', zone: 'a' });
  assert.deepEqual(await watcher.call('list', { gone: false }), ['node-1 live']);
  const killedAt = performance.now();
  await victim.kill();
  await changes.first('it is suspect', ({ kind }) => kind === 'suspect');
  await changes.first('it is gone', ({ kind }) => kind === 'gone');
  const tookMs = performance.now() - killedAt;
  assert.ok(tookMs <= recoveryBoundMs(TTL_MS), `P4: it took ${Math.round(tookMs)} ms`);
  assert.deepEqual(await watcher.call('list', { gone: false }), []);
  assert.deepEqual(await watcher.call('list', { gone: true }), ['node-1 gone']);
}

async function freezeIntoGrace(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const [watcher, node] = [await start(stage), await start(stage)];
  const changes = await watchFrom(watcher);
  await node.call('register', { owner: 'node-1', ttlMs: 4_000, graceMs: 2_000 });
  await changes.first('it joined', ({ kind }) => kind === 'joined');
  node.freeze();
  await changes.first('it is suspect', ({ kind }) => kind === 'suspect');
  node.thaw();
  await changes.first('it recovered', ({ kind }) => kind === 'recovered');
  await node.call('leave', null);
  await changes.first('it is gone', ({ kind }) => kind === 'gone');
  assert.deepEqual(
    changes.all.map(({ kind }) => kind),
    ['joined', 'suspect', 'recovered', 'gone'],
  );
}

async function freezeForLonger(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const [watcher, node] = [await start(stage), await start(stage)];
  const changes = await watchFrom(watcher);
  await node.call('register', { ...LIFE, owner: 'node-1' });
  await changes.first('it joined', ({ kind }) => kind === 'joined');
  node.freeze();
  await changes.first('it is gone', ({ kind }) => kind === 'gone');
  node.thaw();
  assert.deepEqual(await node.call('list', { gone: false }), []);
  await node.call('register', { ...LIFE, owner: 'node-1' });
  await until('it joined again', () => changes.all.at(-1)?.kind === 'joined');
}

async function killMost(backend: Backend): Promise<void> {
  await using stage = await Stage.on(backend);
  const policy = { breakerHoldMs: 1_500 };
  const [watcher, victim] = [await start(stage, policy), await start(stage, policy)];
  const changes = await watchFrom(watcher);
  for (let number = 1; number <= 12; number += 1) {
    await victim.call('register', { ...LIFE, owner: `node-${number}` });
  }
  await until('all joined', () => count(changes, 'joined') === 12);
  await victim.kill();
  await until('the breaker has tripped', async () => {
    const page = await stage.store.leases.events({ after: 0, limit: 1_000 });
    assert.equal(page.kind, 'events');
    return page.events.some(({ kind }) => kind === 'alarm');
  });
  // Some expired before they were the majority; the rest stays, as suspect.
  const kept = await watcher.call('list', { gone: false });
  assert.ok(kept.length >= 6, `only ${kept.length} were kept`);
  assert.ok(kept.every((member) => member.endsWith(' suspect')));
  await until('all are gone', () => count(changes, 'gone') === 12);
}

function count(changes: ChildEvents<Change>, wanted: string): number {
  return changes.all.filter(({ kind }) => kind === wanted).length;
}
