import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAttemptId, parseLeaseKey, parseOwner, parseSessionId } from '../../lease/names.ts';
import type { KernelStore } from '../../lease/port.ts';
import { InvalidInput, StoreCorrupt, StoreUnavailable } from '../../support/fault.ts';
import { systemRandom } from '../../support/random.ts';
import { setSqliteClockBack } from './clock-problem.ts';
import { openSqliteStore, type SqliteStoreOptions } from './open.ts';

let folder = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
});

after(() => rm(folder, { recursive: true, force: true }));

const OPEN_AND_ACQUIRE = `
  const { openSqliteStore } = await import(process.argv[1]);
  const store = await openSqliteStore({ file: process.argv[2] });
  const session = crypto.randomUUID();
  await store.sessions.open({ id: session, owner: 'racer', ttlMs: 60_000, graceMs: 0, metadata: {} });
  const fences = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const attempt = crypto.randomUUID();
    const answer = await store.leases.acquire({ key: session + turn, session, attempt });
    fences.push(answer.fence);
  }
  await store.close();
  console.log(JSON.stringify(fences));`;

test('T-3: ten processes open a new file at once and get different fences', async () => {
  const file = join(folder, 'raced.db');
  const script = fileURLToPath(new URL('./open.ts', import.meta.url));
  const run = promisify(execFile);
  const args = ['--input-type=module', '--eval', OPEN_AND_ACQUIRE, script, file];
  const racers = Array.from({ length: 10 }, () => run(process.execPath, args));
  const fences = (await Promise.all(racers)).flatMap(
    ({ stdout }) => JSON.parse(stdout) as number[],
  );
  assert.equal(fences.length, 200);
  assert.equal(new Set(fences).size, 200);
});

test('acknowledged writes are there after closing and opening again (P3)', async () => {
  const file = join(folder, 'reopened.db');
  const first = await openSqliteStore({ file });
  const { key, fence } = await acquireSomething(first);
  await first.close();
  const second = await openSqliteStore({ file });
  assert.equal((await second.leases.inspect(key)).record?.fence, fence);
  assert.ok((await acquireSomething(second)).fence > fence);
  await second.close();
});

async function acquireSomething(store: KernelStore) {
  const session = parseSessionId(systemRandom.uuid());
  const key = parseLeaseKey(systemRandom.uuid());
  const attempt = parseAttemptId(systemRandom.uuid());
  const owner = parseOwner('somebody');
  await store.sessions.open({ id: session, owner, ttlMs: 10_000, graceMs: 0, metadata: {} });
  const result = await store.leases.acquire({ key, session, attempt });
  assert.equal(result.kind, 'granted');
  return { key, fence: result.fence };
}

test('the durability text names the failures that a "done" survives', async () => {
  const full = await openSqliteStore({ file: join(folder, 'full.db') });
  assert.match(full.durability, /synchronous=FULL/);
  const normal = await openSqliteStore({ file: join(folder, 'normal.db'), durability: 'normal' });
  assert.match(normal.durability, /may lose the last commits/);
  await Promise.all([full.close(), normal.close()]);
});

test('a file of a newer build is refused and left alone', async () => {
  const file = join(folder, 'newer.db');
  await (await openSqliteStore({ file })).close();
  const other = new DatabaseSync(file);
  other.exec('pragma user_version = 1000');
  other.close();
  await assert.rejects(openSqliteStore({ file }), { code: 'store-too-new' });
});

test('a database of another program is refused and left alone', async () => {
  const file = join(folder, 'foreign.db');
  const other = new DatabaseSync(file);
  other.exec('create table theirs (id integer)');
  await assert.rejects(openSqliteStore({ file }), /another program/);
  const tables = other.prepare('select name from sqlite_schema').all();
  assert.deepEqual(
    tables.map((table) => table['name']),
    ['theirs'],
  );
  other.close();
});

test('paths where no database can be are named', async () => {
  const notes = join(folder, 'notes.txt');
  await writeFile(notes, 'not a database, and too long to pass for an empty one\n'.repeat(20));
  await (await openSqliteStore({ file: join(folder, 'frozen.db') })).close();
  const cases: readonly [string, new (message: string) => Error, RegExp][] = [
    [join(folder, 'no', 'such', 'folder.db'), InvalidInput, /does not exist/],
    [folder, InvalidInput, /is a folder/],
    [':memory:', InvalidInput, /openMemoryStore/],
    ['', InvalidInput, /must not be empty/],
    [notes, StoreCorrupt, /not a database/],
    [`file:${join(folder, 'frozen.db')}?mode=ro`, StoreUnavailable, /cannot be written/],
  ];
  for (const [file, fault, message] of cases) {
    await assert.rejects(openSqliteStore({ file }), (error: unknown) => {
      assert.ok(error instanceof fault, `${file}: ${String(error)}`);
      assert.match(error.message, message);
      return true;
    });
  }
});

test('unknown and impossible options are refused', async () => {
  const file = join(folder, 'options.db');
  const misspelt = { file, durabilty: 'full' } as SqliteStoreOptions;
  await assert.rejects(openSqliteStore(misspelt), /Did you mean "durability"/);
  const unknown = { file, durability: 'off' } as unknown as SqliteStoreOptions;
  await assert.rejects(openSqliteStore(unknown), /"full" or "normal"/);
  await assert.rejects(openSqliteStore({ file, busyTimeoutMs: 0.5 }), InvalidInput);
});

test('C-8: store time that a wrong clock has put days ahead is set back, and no session gets more time', async () => {
  const file = join(folder, 'ahead.db');
  const host = { wallMs: () => 2_000_000, monotonicMs: () => 0 };
  const ahead = { wallMs: () => 2_000_000 + 172_800_000, monotonicMs: () => 0 };
  const wrong = await openSqliteStore({ file, clock: ahead });
  const id = parseSessionId(systemRandom.uuid());
  const opening = { id, owner: parseOwner('ann'), ttlMs: 10_000, graceMs: 0, metadata: {} };
  await wrong.sessions.open(opening);
  await wrong.close();
  const right = await openSqliteStore({ file, clock: host });
  await right.sessions.sweep({ limit: 1 });
  const problem = await right.executions.findProblem?.();
  assert.match(problem?.sentence ?? '', /172800 s ahead/);
  assert.equal(setSqliteClockBack(file, right.policy, host), 172_800_000);
  const inspected = await right.sessions.inspect(id);
  assert.deepEqual([inspected?.state, inspected?.remainingMs], ['alive', 10_000]);
  const other = { ...opening, id: parseSessionId(systemRandom.uuid()) };
  await right.sessions.open(other);
  assert.equal((await right.sessions.inspect(other.id))?.session.openedAt, 2_000_000);
  const page = await right.leases.events({ after: 0, limit: 100 });
  assert(page.kind === 'events');
  const alarms = page.events.flatMap((event) => (event.kind === 'alarm' ? [event.alarm] : []));
  assert.deepEqual(alarms, ['clock-set-back']);
  assert.equal(setSqliteClockBack(file, right.policy, host), 0, 'it is not ahead any more');
  await right.close();
});

test('C-9: a process whose clock is days ahead for a moment leaves nothing behind', async () => {
  const file = join(folder, 'moment.db');
  const host = { wall: 2_000_000, tick: 0 };
  const hostOf = (ahead: number) => ({
    wallMs: () => host.wall + ahead,
    monotonicMs: () => host.tick,
    sinceBoot: () => ({ boot: 'one', ms: host.tick }),
  });
  const opened = async (clock: ReturnType<typeof hostOf>): Promise<number> => {
    const store = await openSqliteStore({ file, clock });
    const id = parseSessionId(systemRandom.uuid());
    const owner = parseOwner('ann');
    await store.sessions.open({ id, owner, ttlMs: 10_000, graceMs: 0, metadata: {} });
    const at = (await store.sessions.inspect(id))?.session.openedAt ?? 0;
    const problem = await store.executions.findProblem?.();
    if (clock.wallMs() > host.wall) assert.match(problem?.sentence ?? '', /jumped ahead/);
    else assert.equal(problem, undefined);
    await store.close();
    return at;
  };
  assert.equal(await opened(hostOf(0)), 2_000_000);
  host.wall += 5_000;
  host.tick += 5_000;
  assert.equal(await opened(hostOf(172_800_000)), 2_005_000);
  assert.equal(await opened(hostOf(0)), 2_005_000);
});

test('T-3: a file that was ever opened without FULL skips fences at every open, since the disk may forget', async () => {
  const file = join(folder, 'lossy.db');
  const grantOnce = async (durability: 'full' | 'normal'): Promise<number> => {
    const store = await openSqliteStore({ file, durability });
    const { fence } = await acquireSomething(store);
    await store.close();
    return fence;
  };
  const [first, second] = [await grantOnce('full'), await grantOnce('full')];
  assert.equal(second, first + 1);
  const lossy = await grantOnce('normal');
  assert.ok(lossy > second + 1_000_000);
  assert.ok((await grantOnce('full')) > lossy + 1_000_000);
});
