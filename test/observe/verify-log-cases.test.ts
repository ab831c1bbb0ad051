// Small handmade logs: each of the first kind has a violation, and none of the second kind has.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { type HeldLease, openSession, type Session } from '../../src/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import type { LocatedEntry } from '../../src/observe/lease-log/entry.ts';
import { recordLeases } from '../../src/observe/lease-log/recorder.ts';
import type { ViolatedRule } from '../../src/observe/verify-log/facts.ts';
import { verifyEntries, verifyLeaseLogs } from '../../src/observe/verify-log/verify-log.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const T = 1e12;
const LATER = { kind: 'alarm', alarm: 'mass-expiry', cause: 'the log goes on' };

type Plain = Readonly<Record<string, unknown>>;

const fence = (number: number): number => 2 ** 40 + number;
const event = (seq: number, at: number, of: Plain): Plain => ({
  kind: 'event',
  event: { seq, at: T + at, ...of },
});
const term = (number: number, session: string): Plain => ({
  ...{ key: 'k', fence: fence(number), rev: number, session, owner: `of ${session}` },
});
const acquired = (number: number, session: string): Plain => ({
  kind: 'acquired',
  ...term(number, session),
});
const ended = (number: number, session: string, exit: string): Plain => ({
  kind: 'ended',
  exit,
  ...term(number, session),
});
const operation = (name: string, at: number, of: Plain): Plain => ({
  kind: 'report',
  report: {
    ...{ kind: 'operation', operation: name, outcome: 'ok', latencyMs: 1, at: T + at, key: 'k' },
    ...{ remainingAtSendMs: 5, remainingAtReplyMs: 5, loopLagMs: 0, suspendedMs: 0, ...of },
  },
});
const saved = (number: number, seq: number): Plain => ({ seq, digest: `${number} ${seq}` });
/** The last argument is the time, or an object with the time and special fields. */
const save = (number: number, seq: number, of: number | (Plain & { at: number })): Plain => {
  const { at, ...special } = typeof of === 'number' ? { at: of } : of;
  const usual = { session: 'A', fence: fence(number), bytes: 1, saved: saved(number, seq) };
  return operation('checkpoint', at, { ...usual, ...special });
};
const NONE = { exit: 'none' };
const before = (number: number, exit = 'expired'): Plain => ({ exit, fence: fence(number) });
const restored = (number: number, seq: number): Plain => ({
  restored: { ...saved(number, seq), fence: fence(number) },
});
const grant = (number: number, at: number, of: Plain): Plain => {
  const { session = 'A', predecessor = NONE, ...granted } = of;
  return operation('acquire', at, {
    ...{ session, fence: fence(number), granted: { predecessor, ...granted } },
  });
};

function verified(entries: readonly Plain[]) {
  const located = entries.map((entry, index) => ({
    ...entry,
    place: { log: 'l', line: index + 1 },
  }));
  return verifyEntries(located as unknown as LocatedEntry[]);
}

const BROKEN: Readonly<Record<string, readonly [ViolatedRule, readonly Plain[]]>> = {
  'two holders were granted one fence, and one of the grants is in the record': [
    'fence-reissued',
    [event(1, 0, acquired(1, 'B')), grant(1, -5_000, {}), grant(1, 0, { session: 'B' })],
  ],
  'two holders were granted one fence, without a record': [
    'fence-reissued',
    [grant(1, -5_000, {}), grant(1, 0, { session: 'B' })],
  ],
  'a later grant has a lower fence, without a record': [
    'fence-order',
    [grant(5, 0, {}), grant(3, 500_000, { session: 'B' })],
  ],
  'a holder’s predecessor has a higher fence': [
    'fence-order',
    [grant(3, 0, { predecessor: before(5) })],
  ],
  'a grant was never recorded': [
    'grant-not-recorded',
    [event(1, 0, acquired(1, 'B')), event(2, 90_000, LATER), grant(7, 1_000, {})],
  ],
  'the last checkpoint was lost, without a request to go back': [
    'checkpoint-lineage',
    [
      ...[grant(1, 0, {}), save(1, 1, 1), save(1, 2, 2), save(1, 3, 3)],
      grant(2, 9_000, { session: 'B', predecessor: before(1), ...restored(1, 2) }),
    ],
  ],
  'a checkpoint of a higher fence was handed over': [
    'checkpoint-lineage',
    [grant(2, 0, { predecessor: before(1), ...restored(99, 1) })],
  ],
  'a crashed holder’s checkpoint was forgotten as if its key had been retired': [
    'checkpoint-lineage',
    [grant(1, 0, {}), save(1, 1, 1), grant(2, 9_000, { session: 'B' })],
  ],
  'the sequence fell between two terms': [
    'checkpoint-order',
    [
      ...[grant(1, 0, {}), save(1, 10, 1)],
      grant(2, 100, { session: 'B', predecessor: before(1), ...restored(1, 10) }),
      save(2, 3, { at: 101, session: 'B' }),
    ],
  ],
  'a write was accepted after expiry, before there was a successor': [
    'stale-write-accepted',
    [
      ...[event(1, 0, acquired(1, 'A')), event(2, 10_000, ended(1, 'A', 'expired'))],
      ...[event(3, 120_000, acquired(2, 'B')), save(1, 1, { at: 60_000, remainingAtReplyMs: 0 })],
    ],
  ],
  'a write was accepted after a revocation': [
    'stale-write-accepted',
    [
      ...[event(1, 0, acquired(1, 'A')), event(2, 1_000, ended(1, 'A', 'revoked'))],
      save(1, 1, 61_000),
    ],
  ],
  'a release was accepted after expiry': [
    'stale-write-accepted',
    [
      ...[event(1, 0, acquired(1, 'A')), event(2, 1_000, ended(1, 'A', 'expired'))],
      operation('release', 61_000, { session: 'A', fence: fence(1) }),
    ],
  ],
  'a write was accepted from another session': [
    'foreign-write-accepted',
    [event(1, 0, acquired(1, 'A')), save(1, 1, { at: 1, session: 'MALLORY' })],
  ],
  'a write was accepted for another key, by the holders’ reports': [
    'foreign-write-accepted',
    [grant(1, 0, {}), save(1, 1, { at: 1, key: 'other' })],
  ],
  'a write was accepted under a fence that was never granted': [
    'foreign-write-accepted',
    [event(1, 0, acquired(1, 'A')), event(2, 90_000, LATER), save(9, 1, 1)],
  ],
};

for (const [name, [rule, entries]] of Object.entries(BROKEN)) {
  test(`found: ${name}`, () => {
    const found = verified(entries);
    assert.ok(found.kind === 'violated', found.kind);
    assert.ok(
      found.violations.some((violation) => violation.rule === rule),
      found.violations.map((violation) => violation.rule).join(),
    );
  });
}

const SOUND: Readonly<Record<string, readonly Plain[]>> = {
  'a release that is repeated long after it was done': [
    ...[event(1, 0, acquired(1, 'A')), event(2, 1_000, ended(1, 'A', 'finished'))],
    operation('release', 61_000, { session: 'A', fence: fence(1) }),
  ],
  'a killed holder had saved more than it could report': [
    ...[grant(1, 0, {}), save(1, 1, 1)],
    grant(2, 9_000, { session: 'B', predecessor: before(1), ...restored(1, 4) }),
  ],
  'a holder without a log went back in between': [
    ...[grant(1, 0, {}), save(1, 1, 1), save(1, 2, 2)],
    grant(3, 9_000, { session: 'B', predecessor: before(2), ...restored(1, 1) }),
  ],
  'reports were dropped, and the record with them': [
    ...[event(1, 0, acquired(1, 'A')), event(2, 90_000, LATER), save(9, 1, 1)],
    { kind: 'dropped', at: T, count: 3 },
  ],
  'the record ends before the grant': [event(1, 0, acquired(1, 'B')), grant(7, 1_000, {})],
  'an attempt was answered twice': [
    ...[event(1, 0, acquired(1, 'A')), grant(1, 0, {}), grant(1, 5, {})],
  ],
};

for (const [name, entries] of Object.entries(SOUND)) {
  test(`no alarm: ${name}`, () => {
    const found = verified(entries);
    assert.deepEqual(found.kind === 'violated' ? found.violations : [], []);
  });
}

test('an empty log is not clean', () => {
  assert.equal(verified([]).kind, 'empty');
  assert.equal(verified([{ kind: 'header', version: 1, at: T }]).kind, 'empty');
});

// Logs of a real store and the real recorder.

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cases-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function makeWorld(retentionMs?: number) {
  const clock = new ManualClock();
  const policy = retentionMs === undefined ? {} : { policy: { retentionMs } };
  const store = openMemoryStore({ clock, ...policy });
  const time = { clock, timers: clock.timers };
  const file = join(folder, 'leases.jsonl');
  return { clock, store, time, file };
}

async function taken(session: Session, options: object = {}): Promise<HeldLease> {
  const got = await session.acquire('k', options);
  assert.ok(got.kind === 'acquired', got.kind);
  return got.lease;
}

async function assertClean(files: readonly string[]): Promise<readonly string[]> {
  const found = await verifyLeaseLogs(files);
  assert.ok(found.kind === 'clean', JSON.stringify(found, undefined, 2));
  return found.checked.notes;
}

test('K-5: no alarm: going back twice', async () => {
  const { clock, store, time, file } = makeWorld();
  const recorder = recordLeases({ file, ...time });
  recorder.recordEvents(store);
  const session = await openSession({ store, owner: 'ann', observer: recorder, ...time });
  let lease = await taken(session);
  for (const text of ['1', '2', '3']) await lease.checkpoint(text);
  await lease.release('failed');
  lease = await taken(session, { fromCheckpointBefore: true });
  assert.equal(lease.restored?.seq, 2);
  await lease.checkpoint('3, another way');
  await lease.release('failed');
  lease = await taken(session, { fromCheckpointBefore: true });
  assert.equal(lease.restored?.seq, 2);
  await lease.release('finished');
  await session.close();
  await clock.settle();
  await recorder.close();
  await assertClean([file]);
});

test('L-6: no alarm: a retired key that was forgotten after the retention is acquired again', async () => {
  const { clock, store, time, file } = makeWorld(1_000);
  const recorder = recordLeases({ file, ...time });
  recorder.recordEvents(store);
  const session = await openSession({ store, owner: 'ann', observer: recorder, ...time });
  const lease = await taken(session);
  await lease.checkpoint('1');
  await lease.release('retired');
  await recorder.flush();
  await clock.advance(5_000);
  await store.sessions.sweep({ limit: 100 });
  const again = await taken(session);
  assert.equal(again.predecessor.exit, 'none');
  await again.release('finished');
  await session.close();
  await clock.settle();
  await recorder.close();
  await assertClean([file]);
});

test('no alarm: rotated logs in any order, copies, and one file twice', async () => {
  const { clock, store, time, file } = makeWorld();
  const recorder = recordLeases({ file, bytesMax: 3_000, filesMax: 20, ...time });
  recorder.recordEvents(store);
  const session = await openSession({ store, owner: 'ann', observer: recorder, ...time });
  const lease = await taken(session);
  for (let number = 0; number < 30; number += 1) {
    await lease.checkpoint(String(number));
    await clock.settle();
    await recorder.flush();
  }
  await lease.release('finished');
  await session.close();
  await clock.settle();
  await recorder.close();
  const files = (await readdir(folder)).sort().map((name) => join(folder, name));
  assert.ok(files.length > 4, `${files.length} files`);
  await assertClean(files);
  await assertClean([...files].reverse());
  await assertClean([...files, ...files]);
});

test('no alarm: a recorder was away for longer than the retention, and the log has that gap', async () => {
  const { clock, store, time, file } = makeWorld(1_000);
  await using first = recordLeases({ file, ...time });
  first.recordEvents(store);
  const ann = await openSession({ store, owner: 'ann', ttlMs: 60_000, ...time });
  const lease = await taken(ann);
  await first.close();
  await lease.release('finished');
  await forgetEvents(clock, store);
  const second = recordLeases({ file, ...time });
  second.recordEvents(store);
  await (await taken(ann)).release('finished');
  await second.close();
  const notes = await assertClean([file]);
  assert.match(notes.join(), /deleted before they were recorded, once/);
});

async function forgetEvents(clock: ManualClock, store: KernelStore): Promise<void> {
  await clock.advance(5_000);
  await store.sessions.sweep({ limit: 100 });
}

test('no alarm: events that one recorder missed and another has are not missing', async () => {
  const { clock, store, time, file } = makeWorld(1_000);
  const first = recordLeases({ file, ...time });
  first.recordEvents(store);
  const ann = await openSession({ store, owner: 'ann', ttlMs: 60_000, ...time });
  await (await taken(ann)).release('finished');
  await first.flush();
  await forgetEvents(clock, store);
  const other = join(folder, 'other.jsonl');
  const second = recordLeases({ file: other, ...time });
  second.recordEvents(store);
  await (await taken(ann)).release('finished');
  await Promise.all([first.close(), second.close()]);
  assert.doesNotMatch((await assertClean([other, file])).join(), /deleted before/);
});
