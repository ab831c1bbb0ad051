import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type PrivateEtcd, startEtcd } from '../services/etcd.ts';
import type { WorkerApi } from './children/worker-api.ts';
import { allSaved, assertNothingLost, hold, inspect, newestGrant } from './holders.ts';
import { Stage } from './stage/stage.ts';
import { until } from './stage/until.ts';

/** A busy machine delays heartbeats by a second or two. */
const TTL_MS = 4_000;
const KEYS = ['one', 'two', 'three'];
/** Checkpoints that show that a holder works, before and after the outage. */
const SAVES = 20;

describe('an outage of members of etcd', () => {
  let etcd: PrivateEtcd;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  function address(name: string) {
    return { kind: 'etcd', endpoints: etcd.endpoints, prefix: `${name}/` } as const;
  }

  test('P3, T-3: killing each member under load in turn, the leader first, loses no lease, fence or acknowledged checkpoint', async () => {
    await using stage = await Stage.at(address('killed'));
    const holders = await Promise.all(KEYS.map((key) => hold(stage, key, TTL_MS)));
    await allSaved(holders, SAVES);
    const leader = await etcd.leader();
    for (const member of [leader, (leader + 1) % 3, (leader + 2) % 3]) {
      const newest = newestGrant(holders);
      await etcd.kill(member);
      await allSaved(holders, SAVES);
      await until('a fence was granted after the kill', () => newestGrant(holders) > newest);
      await etcd.restart(member);
    }
    await assertNothingLost(stage, holders);
  });

  test('E-6: after a cluster was away for longer than the TTL, every holder gets a fair chance', async () => {
    await using stage = await Stage.at(address('away'));
    const holders = await Promise.all(KEYS.map((key) => hold(stage, key, TTL_MS)));
    const vulture = stage.start<WorkerApi>('children/worker.ts');
    await vulture.call('open', { store: stage.address, owner: 'vulture', ttlMs: 60_000 });
    const taking = KEYS.map((key) => vulture.call('acquire', { key, wait: true }));
    await until('the vulture is in every queue', async () => {
      const seen = await Promise.all(KEYS.map((key) => inspect(stage, key)));
      return seen.every(({ waiting }) => waiting === 1);
    });
    await allSaved(holders, SAVES);

    // One member alone cannot decide.
    await etcd.kill(0);
    await etcd.kill(1);
    const stoppedAt = performance.now();
    await until('the TTL is long over', () => performance.now() - stoppedAt > 2 * TTL_MS);
    await Promise.all([etcd.restart(0), etcd.restart(1)]);
    await allSaved(holders, SAVES);
    for (const { reports } of holders) assert.ok(reports.some(({ kind }) => kind === 'rejoined'));
    await assertNothingLost(stage, holders);
    const taken = await Promise.race([...taking, Promise.resolve('nothing')]);
    assert.equal(taken, 'nothing', 'no other process was let in');
  });
});
