import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openedSession, TTL_MS } from '../../contract/lease/opened-session.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import type { SessionId } from './names.ts';
import { startSweeper } from './sweeper.ts';

const EVERY_MS = 1_000;
/** Longer than one jittered interval, and shorter than two. */
const ONE_INTERVAL_MS = EVERY_MS * 1.2;

test('E-7: a sweeper that stalled gives holders one more interval before it expires a session', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const { id } = await openedSession(store, 'ann');
  const expired: SessionId[] = [];
  const sweeper = startSweeper({
    ...{ store, everyMs: EVERY_MS, clock, timers: clock.timers, random: seededRandom(7) },
    onSwept: (swept) => expired.push(...swept.expired),
  });

  clock.suspend(TTL_MS);
  await clock.advance(ONE_INTERVAL_MS);
  assert.deepEqual(expired, []);
  await clock.advance(ONE_INTERVAL_MS);
  assert.deepEqual(expired, [id]);
  await sweeper.stop();
});
