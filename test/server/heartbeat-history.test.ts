// The heartbeats that a coordinator remembers: readings of a real store on a clock that the test moves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/index.ts';
import { type OpenedSession, openedSession, several } from '../../contract/lease/opened-session.ts';
import {
  HeartbeatHistory,
  READING_MS,
  SESSIONS_MAX,
} from '../../src/protocol/rest/heartbeat-history.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

function stage() {
  const clock = new ManualClock(1_000 * DAY_MS);
  const store = openMemoryStore({ clock, policy: { ttlMsMax: 7 * DAY_MS } });
  const history = new HeartbeatHistory(store.sessions, clock);
  const beat = ({ id, owner }: OpenedSession) => store.sessions.heartbeat({ id, owner });
  /** Moves time on to a reading. */
  const read = async (ms = READING_MS): Promise<void> => {
    clock.jumpWall(ms);
    await history.read();
  };
  const rows = (rangeMs: number, agoMs = 0, maySee: (project?: string) => boolean = () => true) => {
    const { sessions, cellMs } = history.observed(
      { rangeMs, toMs: clock.wallMs() - agoMs },
      maySee,
    );
    return { cellMs, rows: sessions.map(({ owner, cells, end }) => ({ owner, cells, end })) };
  };
  return { clock, store, history, beat, read, rows };
}

test('a frozen session is late, then lapsed, then ended; one that beats stays in time', async () => {
  const { store, beat, read, rows } = stage();
  // Both may act for 8 s after a heartbeat, and end 2 s later.
  const well = await openedSession(store, 'well');
  await openedSession(store, 'frozen');
  for (let nth = 0; nth < 2; nth += 1) {
    await read(0);
    await read(7_000);
    await beat(well);
  }
  await store.sessions.sweep({ limit: 10 });
  for (let nth = 0; nth < 4; nth += 1) {
    await beat(well);
    await read();
  }
  const { cellMs, rows: found } = rows(MINUTE_MS);
  assert.equal(cellMs, READING_MS);
  assert.deepEqual(
    found.map(({ owner, cells, end }) => [owner, cells, end?.exit]),
    [
      ['frozen', '.....olx....', 'expired'],
      ['well', '.....olloooo', undefined],
    ],
  );
});

test('a session that lapsed and ended between two readings is shown as lapsed', async () => {
  const { store, clock, read, rows } = stage();
  await openedSession(store, 'gone');
  await read();
  clock.jumpWall(11_000);
  await store.sessions.sweep({ limit: 10 });
  await read();
  assert.deepEqual(
    rows(MINUTE_MS).rows.map(({ cells, end }) => [cells, end?.exit]),
    [['........o.x.', 'expired']],
  );
});

test('a range of an hour, a day or a week has at most 120 cells, and the worst reading of each', async () => {
  const { store, clock, history, read, rows } = stage();
  await openedSession(store, 'alive', { ttlMs: 7 * DAY_MS, graceMs: 1 });
  await openedSession(store, 'short', { ttlMs: 10_000, graceMs: 1 });
  await read(0);
  await read(11_000);
  await store.sessions.sweep({ limit: 10 });
  for (const ms of [HOUR_MS / 2, HOUR_MS, 5 * HOUR_MS, DAY_MS]) await read(ms);
  for (const rangeMs of [15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS, 7 * DAY_MS]) {
    const { cellMs, rows: found } = rows(rangeMs);
    const [first] = found;
    assert.ok((first?.cells.length ?? 0) <= 120, `${rangeMs}`);
    assert.ok(cellMs * (first?.cells.length ?? 0) >= rangeMs, `${rangeMs}`);
    assert.equal(found.at(-1)?.cells.at(-1), 'o', `${rangeMs}`);
  }
  const week = rows(7 * DAY_MS).rows;
  assert.deepEqual(
    week.map(({ owner }) => owner),
    ['short', 'alive'],
    'those that lapsed come first',
  );
  assert.match(week[0]?.cells ?? '', /^\.+x\.+$/, 'a good reading does not hide a bad one');
  assert.deepEqual(
    rows(HOUR_MS).rows.map(({ owner }) => owner),
    ['alive'],
  );
  const later = history.observed(
    { rangeMs: HOUR_MS, toMs: clock.wallMs() + 9 * DAY_MS },
    () => true,
  );
  assert.deepEqual(later.sessions, []);
});

test('a project sees its own sessions only', async () => {
  const { store, read, rows } = stage();
  const metadata = { 'holdfast.project': 'ours' };
  await openedSession(store, 'mine', { metadata });
  await openedSession(store, 'embedded');
  await read();
  const found = rows(MINUTE_MS, 0, (project) => project === 'ours');
  assert.deepEqual(
    found.rows.map(({ owner }) => owner),
    ['mine'],
  );
});

test('more sessions than it observes are cut; those that ended longest ago make room', async () => {
  const { store, history, read, rows } = stage();
  const old = await several(store, 'old', { count: 3 });
  await read();
  for (const { id, owner } of old) {
    await store.sessions.end({ id, by: { kind: 'owner', owner, exit: 'finished' } });
  }
  await several(store, 'new', { count: SESSIONS_MAX - 2 });
  await read();
  await read();
  assert.equal(history.isCut, false);
  const names = rows(MINUTE_MS).rows.map(({ owner }) => owner);
  assert.equal(names.length, SESSIONS_MAX);
  assert.equal(names.filter((owner) => owner.startsWith('old')).length, 2);
  await several(store, 'newer', { count: 3 });
  await read();
  assert.deepEqual([rows(MINUTE_MS).rows.length, history.isCut], [SESSIONS_MAX, true]);
});

test('a store that fails leaves its readings unobserved', async () => {
  const { store, clock, history, rows } = stage();
  await openedSession(store, 'alive', { ttlMs: DAY_MS, graceMs: 1 });
  await history.read();
  clock.jumpWall(READING_MS);
  const list = () => Promise.reject(new Error('away'));
  const failing = new HeartbeatHistory({ ...store.sessions, list }, clock);
  await assert.rejects(failing.read());
  assert.equal(failing.sinceMs, undefined);
  clock.jumpWall(READING_MS);
  await history.read();
  assert.match(rows(MINUTE_MS).rows[0]?.cells ?? '', /o\.o$/);
});
