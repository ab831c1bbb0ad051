// Guards that only concurrent calls can miss: another call comes between a read and the write.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../contract/testing/manual-clock.ts';
import { FENCE_ORIGIN, toFence } from '../../lease/fence.ts';
import { parseOwner, parseSessionId } from '../../lease/names.ts';
import { DEFAULT_POLICY } from '../../lease/policy.ts';
import { seededRandom } from '../../support/random.ts';
import { atEndOfTurn, systemTimers } from '../../support/timer.ts';
import { halt } from '../sql/leases/events.ts';
import { connectMemory } from './connect.ts';
import { Database } from './database.ts';
import { play } from './gateway.ts';
import { portsOf } from './ports.ts';
import { expire } from './sweep.ts';

function openDatabase(): { readonly database: Database; readonly clock: ManualClock } {
  const clock = new ManualClock();
  const timers = { ...systemTimers, soon: atEndOfTurn };
  const config = { clock, timers, random: seededRandom(1), policy: DEFAULT_POLICY };
  return { database: new Database(connectMemory(), { ...config, busyTimeoutMs: 0 }), clock };
}

test('T-4: a fence that a raised epoch has overtaken halts nothing', async () => {
  const { database } = openDatabase();
  const ahead = toFence(FENCE_ORIGIN + 5);
  await portsOf(database).raiseEpoch({ actor: 'olga', reason: 'restored' });
  await database.write((tx) => play(tx, halt(ahead)));
  const halted = await database.write((tx) => tx.get('select halted from meta'));
  assert.deepEqual({ ...(halted as object) }, { halted: null });
});

test('E-3: a session that another call has ended does not end again', async () => {
  const { database, clock } = openDatabase();
  const { sessions } = portsOf(database);
  const id = parseSessionId('00000000-0000-4000-8000-000000000001');
  const owner = parseOwner('ann');
  await sessions.open({ id, owner, ttlMs: 1_000, graceMs: 0, metadata: {} });
  await sessions.end({ id, by: { kind: 'owner', owner, exit: 'finished' } });
  await clock.advance(2_000);
  const { expired } = await database.write((tx) => expire(tx, [id]));
  assert.deepEqual(expired, []);
});
