// Pinned executions go only to matching workers. The coordinator checks announcements on every
// transport.

import assert from 'node:assert/strict';
import type { Claimed, ClaimResult } from '../../src/store/contract/execution-store.ts';
import { announcing, mustActivate } from '../execution/releases/releasing.ts';
import { mustSubmit, statusOf } from '../execution/worker.ts';
import { expectKind } from '../lease/expect.ts';
import type { TransportCase } from './contract-case.ts';
import { assertKind, assertWhy, type Peer, peer } from './peer.ts';

async function claimOf(ann: Peer, release: string): Promise<readonly Claimed[]> {
  const body = { ...ann.claiming(), release };
  return expectKind(await ann.request<ClaimResult>('claimExecutions', body), 'claimed').claims;
}

type Announced = NonNullable<ReturnType<typeof announcing>['release']>;

/** The wrong worker is refused and gets nothing. The right one does, and no attempt was used. */
function refused(what: string, why: string, wrong: (right: Announced) => Announced): TransportCase {
  return {
    upholds: 'RE-9, M-16',
    name: `a worker ${what} is refused, and claims no pinned execution`,
    async run(harness) {
      await mustActivate(harness.store, 'v1');
      const id = await mustSubmit(harness.store);
      const ann = await peer(harness);
      const { release, ...about } = announcing(ann.id, 'v1');
      assert.ok(release !== undefined);
      const changed = wrong(release);
      assertWhy(await ann.request('announceWorker', { ...about, release: changed }), why);
      assert.deepEqual(await claimOf(ann, changed.name), []);
      assert.deepEqual(await claimOf(ann, 'v1'), []);
      assert.equal(await statusOf(harness.store, id), 'queued');
      assertKind(await ann.request('announceWorker', { ...about, release }), 'announced');
      const [claimed] = await claimOf(ann, 'v1');
      assert.deepEqual([claimed?.execution.id, claimed?.execution.claimsWithoutProgress], [id, 0]);
    },
  };
}

export const releaseCases: readonly TransportCase[] = [
  refused('whose artifact has another digest than its release', 'release-differs', (right) => ({
    ...right,
    digest: 'sha256:forged',
  })),
  refused('whose code has another contract than its release', 'release-differs', (right) => ({
    ...right,
    contracts: Object.fromEntries(Object.keys(right.contracts).map((name) => [name, 'other'])),
  })),
  refused('of an unregistered release', 'release-unknown', (right) => ({ ...right, name: 'v9' })),
];
