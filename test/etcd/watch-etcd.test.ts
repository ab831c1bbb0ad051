// Hints reach waiters, whatever happens to the member they come from.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  acquiring,
  KEY,
  mustAcquire,
  mustRelease,
  openedSession,
} from '../../contract/lease/opened-session.ts';
import type { KernelStore } from '../../src/index.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { RawEtcd } from '../contract/raw-etcd.ts';
import { type PrivateEtcd, startEtcd } from '../services/etcd.ts';

const LONG = { ttlMs: 600_000, graceMs: 0 };

let etcd: PrivateEtcd;

before(async () => {
  etcd = await startEtcd();
});

after(() => etcd.stop());

/** Waits for the next hint for the key. Without one the test's time limit ends it. */
function nextHint(store: KernelStore): Promise<void> {
  return new Promise((resolve) => {
    const stop = store.onHint((key) => {
      if (key !== KEY) return;
      stop();
      resolve();
    });
  });
}

async function freeWithAWaiter(releasing: KernelStore, name: string): Promise<void> {
  const ann = await openedSession(releasing, `ann ${name}`, LONG);
  const { tenure } = await mustAcquire(releasing, ann);
  const bob = await openedSession(releasing, `bob ${name}`, LONG);
  const waiting = acquiring(bob, { wait: true });
  assert.equal((await releasing.leases.acquire(waiting)).kind, 'queued');
  await mustRelease(releasing, tenure);
  await releasing.leases.withdraw(waiting);
}

test('A-7: a hint comes from another process, and after the member it came from was killed', async () => {
  const prefix = 'killed/';
  const { endpoints } = etcd;
  const waiting = await openEtcdStore({ endpoints, prefix });
  const releasing = await openEtcdStore({ endpoints, prefix });
  const first = nextHint(waiting);
  await freeWithAWaiter(releasing, 'before');
  await first;
  for (const member of endpoints.keys()) {
    await etcd.kill(member);
    await etcd.leader();
    const again = nextHint(waiting);
    await etcd.restart(member);
    await freeWithAWaiter(releasing, `after ${member}`);
    await again;
  }
  await waiting.close();
  await releasing.close();
});

test('A-7: a watch whose next revision was compacted continues, and sends hints for the missed changes', async () => {
  const prefix = 'compacted/';
  const [cutOff, ...others] = etcd.endpoints;
  assert.ok(cutOff !== undefined);
  const waiting = await openEtcdStore({ endpoints: [cutOff], prefix });
  const releasing = await openEtcdStore({ endpoints: others, prefix });
  const ann = await openedSession(releasing, 'ann', LONG);
  const { tenure } = await mustAcquire(releasing, ann);
  const bob = await openedSession(releasing, 'bob', LONG);
  const place = acquiring(bob, { wait: true });
  assert.equal((await releasing.leases.acquire(place)).kind, 'queued');
  const missed = nextHint(waiting);
  await etcd.kill(0);
  await etcd.leader();
  // Compaction removes this change from the history before the member is back.
  await mustRelease(releasing, tenure);
  await new RawEtcd(others).compact();
  await etcd.restart(0);
  await missed;

  await releasing.leases.withdraw(place);
  const next = nextHint(waiting);
  await freeWithAWaiter(releasing, 'later');
  await next;
  await waiting.close();
  await releasing.close();
});

test('E-4: when etcd expires a session, its keys get a hint', async () => {
  const prefix = 'given-up/';
  const { endpoints } = etcd;
  const store = await openEtcdStore({ endpoints, prefix });
  const other = await openEtcdStore({ endpoints, prefix });
  await mustAcquire(store, await openedSession(store, 'ann', { ttlMs: 1_000 }));
  await nextHint(other);
  await store.close();
  await other.close();
});
