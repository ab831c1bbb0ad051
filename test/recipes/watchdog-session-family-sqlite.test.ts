// A watchdog session with child sessions, and recipes that use one.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { LeaseNotHeld, type Session } from '../../src/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { elect, openWatchdogSession, pool, type WatchdogSession } from '../../src/recipes/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { until } from '../processes/stage/until.ts';

const TTL_MS = 6_000;

let folder = '';
let store: KernelStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-family-'));
  store = await openSqliteStore({ file: join(folder, 'leases.db') });
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

test('H-2: sessions below a watchdog session stop in the line after it is closed', async () => {
  const parent = await openWatchdogSession({ store, owner: 'parent', ttlMs: TTL_MS });
  const child = await parent.openChild({ owner: 'child', ttlMs: TTL_MS });
  const grandchild = await child.openChild({ owner: 'grandchild', ttlMs: TTL_MS });
  const leases = [];
  for (const session of [child, grandchild]) {
    const got = await session.acquire(`of ${session.owner}`);
    assert.ok(got.kind === 'acquired');
    leases.push(got.lease);
  }
  const closing = parent.close();
  for (const lease of leases) {
    const isLost = (fault: unknown): boolean =>
      fault instanceof LeaseNotHeld && fault.by === 'lost';
    assert.throws(() => lease.assertHeld(0), isLost);
  }
  assert.deepEqual([child.signal.aborted, grandchild.signal.aborted], [true, true]);
  assert.equal((await closing).kind, 'ended');
  assert.equal((await grandchild.close()).kind, 'ended');
});

test('R-7: elect and pool use a watchdog session if they get one', async () => {
  const opened: WatchdogSession[] = [];
  const open = async (options: Parameters<typeof openWatchdogSession>[0]): Promise<Session> => {
    const session = await openWatchdogSession(options);
    opened.push(session);
    return session;
  };
  const options = { store, owner: 'ann', ttlMs: TTL_MS, open };
  const sums: number[] = [];
  const election = elect({ ...options, name: 'leader' }, async ({ signal }) => {
    sums.push(opened[0]?.busy(1_000, () => 40 + 2) ?? 0);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  });
  await until('it leads', () => sums.length > 0);
  const member = pool({ ...options, name: 'queues', keys: ['a'] }, async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  });
  await until('it has its key', () => member.held.length === 1);
  assert.deepEqual(sums, [42]);
  assert.equal(opened.length, 2);
  await Promise.all([election.stop(), member.stop()]);
  assert.ok(opened.every(({ signal }) => signal.aborted));
});
