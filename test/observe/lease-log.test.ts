import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { type LeaseReport, openSession, StoreUnavailable } from '../../src/index.ts';
import type { OperationReport } from '../../src/lease/observer.ts';
import {
  type LocatedEntry,
  type MalformedLine,
  showPlace,
} from '../../src/observe/lease-log/entry.ts';
import { readLeaseLog } from '../../src/observe/lease-log/read-log.ts';
import { recordLeases } from '../../src/observe/lease-log/recorder.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { seededRandom } from '../../src/support/random.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-log-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function readAll(file: string): Promise<readonly (LocatedEntry | MalformedLine)[]> {
  const read: (LocatedEntry | MalformedLine)[] = [];
  for await (const line of readLeaseLog(file)) read.push(line);
  return read;
}

const HEADER = '{"kind":"header","version":1,"at":1}';
const DROPPED = '{"kind":"dropped","at":2,"count":3}';

test('the reports of a session and the events of the store are in one log, one entry per line', async () => {
  const clock = new ManualClock();
  const file = join(folder, 'leases.jsonl');
  const store = openMemoryStore({ clock });
  const recorder = recordLeases({ file, clock, timers: clock.timers });
  recorder.recordEvents(store);
  const options = { store, clock, timers: clock.timers, observer: recorder, ttlMs: 9_000 };
  const session = await openSession({ ...options, owner: 'ann' });
  const got = await session.acquire('invoice/7');
  assert.ok(got.kind === 'acquired');
  await got.lease.checkpoint('one');
  await clock.advance(9_000);
  await got.lease.checkpoint('two');
  await got.lease.release('finished');
  await session.close();
  await clock.settle();
  await recorder.close();

  const entries = await readAll(file);
  assert.deepEqual(
    entries.filter((entry) => entry.kind === 'malformed'),
    [],
  );
  const reports = entries.flatMap((entry) => (entry.kind === 'report' ? [entry.report] : []));
  const settings = reports.find((report) => report.kind === 'settings');
  assert.ok(settings?.kind === 'settings');
  assert.deepEqual(
    [settings.owner, settings.ttlMs, settings.graceMs, settings.heartbeatMs],
    ['ann', 9_000, 1_800, 3_000],
  );
  const saves = reports.flatMap((report) =>
    report.kind === 'operation' && report.saved ? [report.saved] : [],
  );
  assert.deepEqual(
    saves.map(({ seq, sinceLastMs }) => [seq, Math.round(sinceLastMs ?? -1)]),
    [
      [1, 0],
      [2, 9_000],
    ],
  );
  const events = entries.flatMap((entry) => (entry.kind === 'event' ? [entry.event.kind] : []));
  assert.deepEqual(events, ['session-opened', 'acquired', 'ended', 'session-ended']);
});

test('attempts count up over a renewal and start again; a suspend is reported once', async () => {
  const { reports, world } = await observed();
  world.fail = 2;
  await world.clock.advance(9_000);
  const attempts = reports.flatMap((report) =>
    report.attempt === undefined ? [] : [report.attempt],
  );
  assert.ok(attempts.join(',').includes('1,2,3,1'), `attempts were ${attempts.join(',')}`);
  reports.length = 0;
  world.clock.suspend(700);
  await world.clock.advance(9_000);
  const suspended = reports.filter((report) => report.suspendedMs > 0);
  assert.deepEqual(
    suspended.map((report) => Math.round(report.suspendedMs)),
    [700],
  );
});

test('the suspend that lost a session is reported with the heartbeat that found out', async () => {
  // Its jitter decides whether that heartbeat comes before the next look at the clocks.
  for (let seed = 1; seed <= 100; seed += 1) {
    const { reports, world } = await observed(seed);
    await world.clock.advance(9_000);
    world.clock.suspend(20_000);
    await world.clock.advance(9_000);
    const suspended = reports.filter((report) => report.suspendedMs > 0);
    assert.deepEqual(
      suspended.map((report) => Math.round(report.suspendedMs)),
      [20_000],
      `seed ${seed}`,
    );
  }
});

async function observed(seed = 1) {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const world = { clock, fail: 0 };
  const { heartbeat } = store.sessions;
  store.sessions.heartbeat = (request) => {
    world.fail -= 1;
    if (world.fail >= 0) throw new StoreUnavailable('The store is away.');
    return heartbeat(request);
  };
  const reports: OperationReport[] = [];
  const observer = {
    report: (report: LeaseReport) => {
      if (report.kind === 'operation') reports.push(report);
    },
  };
  const time = { clock, timers: clock.timers, random: seededRandom(seed) };
  await openSession({ store, owner: 'ann', ttlMs: 9_000, observer, ...time });
  return { reports, world };
}

test('an invalid line is named with its problem, wherever it is', async () => {
  const file = join(folder, 'bad.jsonl');
  const lines: readonly (readonly [string, RegExp])[] = [
    ['{"kind":"dropped","at":"noon","count":3}', /at must be a number; got "noon"/],
    ['{"kind":"dropped","at":2}', /count must be a whole number/],
    ['{"kind":"dropped","at":2,"count":3,"more":1}', /unknown field "more"/],
    ['{"kind":"gap"}', /kind must be one of header, report, event, dropped, missed; got "gap"/],
    [
      '{"kind":"report","report":{"kind":"lost","session":"s","leases":-1,"at":1}}',
      /report.leases must be/,
    ],
    ['{"kind":"event","event":{"kind":"acquired","seq":1,"at":1}}', /event.key must be text/],
    ['{"kind":"header","version":2,"at":1}', /version is 2; this build reads version 1/],
    ['not json', /not JSON/],
    ['[]', /kind must be one of/],
  ];
  await writeFile(file, `${[HEADER, ...lines.map(([line]) => line), DROPPED].join('\n')}\n`);
  const read = await readAll(file);
  assert.equal(read.length, lines.length + 2);
  for (const [index, [, problem]] of lines.entries()) {
    const line = read[index + 1];
    assert.ok(line?.kind === 'malformed', `line ${index + 2} must be refused`);
    assert.match(line.problem, problem);
    assert.equal(showPlace(line.place), `${file}:${index + 2}`);
  }
});

test('a line that a killed process left unfinished is skipped at the end and before a new header', async () => {
  const file = join(folder, 'torn.jsonl');
  await writeFile(file, `${HEADER}\n${DROPPED}\n{"kind":"repo`);
  assert.equal((await readAll(file)).length, 2);
  const recorder = recordLeases({ file });
  recorder.report({ kind: 'dropped', count: 1, at: 5 });
  await recorder.close();
  const kinds = (await readAll(file)).map((entry) => entry.kind);
  assert.deepEqual(kinds, ['header', 'dropped', 'header', 'report']);
  await appendFile(file, '{"kind":\n{"kind":"dropped","at":2,"count":3}\n');
  assert.ok((await readAll(file)).some((entry) => entry.kind === 'malformed'));
});

test('beyond its size a log continues in a new file, and the oldest is deleted', async () => {
  const file = join(folder, 'small.jsonl');
  const recorder = recordLeases({ file, bytesMax: 400, filesMax: 2 });
  for (let count = 1; count <= 30; count += 1) {
    recorder.report({ kind: 'dropped', count, at: count });
    await recorder.flush();
  }
  await recorder.close();
  for (const name of [file, `${file}.1`, `${file}.2`]) {
    const entries = await readAll(name);
    assert.equal(entries[0]?.kind, 'header', 'every file starts with a header');
    assert.ok((await readFile(name, 'utf8')).length <= 500);
  }
  await assert.rejects(readFile(`${file}.3`), /ENOENT/);
});

test('O-4: a recorder that cannot write rejects flush, and never throws into the library', async () => {
  const gone = join(folder, 'gone');
  await mkdir(gone);
  const errors: unknown[] = [];
  const onError = (error: unknown): unknown => errors.push(error);
  const recorder = recordLeases({ file: join(gone, 'a.jsonl'), onError });
  await rm(gone, { recursive: true });
  recorder.report({ kind: 'dropped', count: 1, at: 1 });
  await assert.rejects(recorder.flush(), /ENOENT/);
  recorder.report({ kind: 'dropped', count: 1, at: 1 });
  assert.equal(recorder.dropped, 1);
  assert.match(String(errors), /ENOENT/);
  assert.equal(errors.length, 1);
});

test('a path that cannot be written is refused at once', () => {
  const file = join(folder, 'no-such-folder', 'a.jsonl');
  assert.throws(() => recordLeases({ file }), /no-such-folder.* cannot be written .*ENOENT/);
});

test('every new file of a log has the settings of the sessions that are still open', async () => {
  const file = join(folder, 'long-lived.jsonl');
  const clock = new ManualClock();
  const time = { clock, timers: clock.timers };
  const store = openMemoryStore({ clock });
  const recorder = recordLeases({ file, bytesMax: 2_000, filesMax: 2, ...time });
  const open = (owner: string) => openSession({ store, owner, observer: recorder, ...time });
  const short = await open('short');
  const long = await open('long');
  await short.close();
  for (let round = 0; round < 20; round += 1) {
    await clock.advance(5_000);
    await recorder.flush();
  }
  for (const name of [file, `${file}.1`, `${file}.2`]) {
    const entries = await readAll(name);
    const sessions = entries.flatMap((entry) =>
      entry.kind === 'report' && entry.report.kind === 'settings' ? [entry.report.session] : [],
    );
    assert.deepEqual(sessions, [long.id], name);
  }
  await long.close();
  await recorder.close();
});

test('a file without a header is not a lease log, and a torn line before a header is an error', async () => {
  const file = join(folder, 'other.txt');
  for (const [text, problem] of [
    ['hello\n', /not JSON/],
    ['hello', /not JSON/],
    [`${DROPPED}\n`, /begins with a header/],
    [`hello\n${HEADER}\n`, /not JSON/],
  ] as const) {
    await writeFile(file, text);
    const [first] = await readAll(file);
    assert.ok(first?.kind === 'malformed', text);
    assert.match(first.problem, problem);
  }
});

test('O-1: a recorder that starts on a store with many events records each of them', async () => {
  const clock = new ManualClock();
  const file = join(folder, 'many.jsonl');
  const store = openMemoryStore({ clock });
  const time = { clock, timers: clock.timers };
  const session = await openSession({ store, owner: 'ann', ...time });
  for (let count = 0; count < 6_000; count += 1) {
    const got = await session.acquire(`key/${count % 50}`);
    assert.ok(got.kind === 'acquired');
    await got.lease.release('finished');
  }
  const recorder = recordLeases({ file, ...time });
  recorder.recordEvents(store);
  await recorder.close();
  assert.equal(recorder.dropped, 0);
  const seqs = (await readAll(file)).flatMap((entry) =>
    entry.kind === 'event' ? [entry.event.seq] : [],
  );
  assert.deepEqual(
    seqs,
    Array.from({ length: 12_001 }, (_, index) => index + 1),
  );
});

test('close writes pending reports even if the store is away, and rejects', async () => {
  const clock = new ManualClock();
  const file = join(folder, 'away.jsonl');
  const faulty = faultyStore(openMemoryStore({ clock }));
  const recorder = recordLeases({ file, clock, timers: clock.timers });
  faulty.failAll('unavailable');
  recorder.recordEvents(faulty.store);
  recorder.report({ kind: 'dropped', count: 7, at: 5 });
  await assert.rejects(recorder.close(), StoreUnavailable);
  const kinds = (await readAll(file)).map((entry) => entry.kind);
  assert.deepEqual(kinds, ['header', 'report']);
});
