// Errors in the thread of a watchdog session. They must not leave a session without heartbeats and
// without a report.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { LeaseReport } from '../../src/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { openWatchdogSession, type WatchdogSession } from '../../src/recipes/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { until } from '../processes/stage/until.ts';
import type { Troubled } from './children/troubled-store.ts';

const TTL_MS = 6_000;

let folder = '';
let store: KernelStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-troubled-'));
  store = await openSqliteStore({ file: join(folder, 'leases.db') });
});

afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function openTroubled(
  trouble: Troubled['trouble'],
): Promise<{ readonly session: WatchdogSession; readonly reports: LeaseReport[] }> {
  const reports: LeaseReport[] = [];
  const address = {
    module: new URL('./children/troubled-store.ts', import.meta.url).href,
    open: 'openTroubled',
    options: { file: join(folder, 'leases.db'), trouble } satisfies Troubled,
  };
  const session = await openWatchdogSession({
    store: { ...store, address },
    owner: 'ann',
    ttlMs: TTL_MS,
    observer: { report: (report) => void reports.push(report) },
  });
  return { session, reports };
}

async function beatAt(session: WatchdogSession): Promise<number> {
  return Number((await store.sessions.inspect(session.id))?.session.beatAt ?? 0);
}

function troubles(reports: readonly LeaseReport[]): readonly string[] {
  return reports.flatMap((each) => (each.kind === 'troubled' ? [each.cause ?? ''] : []));
}

test('a heartbeat of the thread that fails unexpectedly is reported, and the next ones are sent', async () => {
  const { session, reports } = await openTroubled('rejects');
  const got = await session.acquire('k');
  assert.ok(got.kind === 'acquired');
  await until('the trouble is reported', () => troubles(reports).length > 0);
  assert.match(troubles(reports).join(), /permission denied/);
  const before = await beatAt(session);
  await until('the thread goes on', async () => (await beatAt(session)) > before);
  got.lease.assertHeld(0);
  assert.equal(session.signal.aborted, false);
  assert.equal((await session.close()).kind, 'ended');
});

test('when the thread has ended, the event loop keeps the session, and that is reported', async () => {
  const { session, reports } = await openTroubled('ends-thread');
  const child = await session.openChild({ owner: 'child', ttlMs: TTL_MS });
  const got = await session.acquire('k');
  assert.ok(got.kind === 'acquired');
  await until('the trouble is reported', () => troubles(reports).length > 0);
  assert.match(troubles(reports).join(), /the thread has ended/);
  const before = await beatAt(session);
  await until('it is kept', async () => (await beatAt(session)) > before);
  got.lease.assertHeld(0);
  assert.deepEqual([session.signal.aborted, child.signal.aborted], [false, false]);
  const late = await session.openChild({ owner: 'late', ttlMs: TTL_MS });
  assert.equal((await late.close()).kind, 'ended');
  assert.equal((await session.close()).kind, 'ended');
  await until('the child has found out', () => child.signal.aborted);
});
