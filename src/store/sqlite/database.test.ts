import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import type { LeaseKey } from '../../lease/names.ts';
import { resolvePolicy } from '../../lease/policy.ts';
import { systemClock } from '../../support/clock.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { systemRandom } from '../../support/random.ts';
import { systemTimers } from '../../support/timer.ts';
import { connect } from './connect.ts';
import { Connection } from './connection.ts';
import { Database } from './database.ts';
import { type Transaction, TransactionUndone } from './transaction.ts';

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const CONFIG = {
  policy: resolvePolicy(),
  clock: systemClock,
  timers: systemTimers,
  random: systemRandom,
  busyTimeoutMs: 5_000,
};

interface Opened {
  readonly file: string;
  readonly connection: Connection;
  readonly database: Database;
}

async function openDatabase(busyTimeoutMs: number = CONFIG.busyTimeoutMs): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'store.db');
  const config = { ...CONFIG, busyTimeoutMs };
  const connection = await connect({ file, durability: 'full' }, config);
  const database = new Database(connection, config);
  cleanups.push(() => database.close());
  return { file, connection, database };
}

/** A second connection that holds the write lock, as another process could. */
function lockFile(file: string): Connection {
  const other = new Connection(file);
  other.execute('begin immediate');
  cleanups.push(() => other.close());
  return other;
}

const charge = (owner: string) => (tx: Transaction) =>
  tx.run('insert into flap (key, owner, until) values (:key, :owner, 1)', { key: 'k', owner });

function owners(database: Database): Promise<readonly string[]> {
  return database.read((tx) =>
    tx.all<{ owner: string }>('select owner from flap order by owner').map(({ owner }) => owner),
  );
}

test('P3: synchronous is FULL and the journal is a WAL', async () => {
  const { connection } = await openDatabase();
  assert.equal(connection.synchronous(), 2);
  assert.deepEqual({ ...connection.get<object>('pragma journal_mode') }, { journal_mode: 'wal' });
  assert.deepEqual({ ...connection.get<object>('pragma busy_timeout') }, { timeout: 0 });
});

test('operations that come together are committed together', async () => {
  const { database, connection } = await openDatabase();
  let commits = 0;
  const run = connection.run.bind(connection);
  connection.run = (sql, parameters) => {
    if (sql === 'commit') commits += 1;
    return run(sql, parameters);
  };
  await Promise.all(Array.from({ length: 100 }, (_, index) => database.write(charge(`${index}`))));
  assert.equal(commits, 1);
  await Promise.all(Array.from({ length: 2_500 }, () => database.write(() => 1)));
  assert.equal(commits, 4, 'a flush takes 1,000 at most');
});

test('an operation that throws is undone and rejected alone', async () => {
  const { database } = await openDatabase();
  const settled = await Promise.allSettled([
    database.write(charge('first')),
    database.write((tx) => {
      charge('undone')(tx);
      throw new Error('a bug');
    }),
    database.write(charge('second')),
    database.write((tx) => tx.run('insert into nowhere values (1)')),
    database.write(charge('third')),
  ]);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal((settled[1] as PromiseRejectedResult).reason.message, 'a bug');
  assert.ok((settled[3] as PromiseRejectedResult).reason instanceof StoreUnavailable);
  assert.deepEqual(await owners(database), ['first', 'second', 'third']);
  assert.equal(await database.write(charge('later')), 1);
});

test('an operation that undoes the transaction gets an answer, and all others run again', async () => {
  const { database } = await openDatabase();
  const undoing = (result: string) => (tx: Transaction) => {
    charge('undone')(tx);
    tx.connection.run('rollback');
    throw new TransactionUndone(result);
  };
  const settled = await Promise.allSettled([
    database.write(charge('first')),
    database.write<unknown>(undoing('one')),
    database.write(charge('second')),
    database.write(() => {
      throw new Error('a bug');
    }),
    database.write<unknown>(undoing('two')),
    database.write(charge('third')),
  ]);
  assert.deepEqual(
    settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message)),
    [1, 'one', 1, 'a bug', 'two', 1],
  );
  assert.deepEqual(await owners(database), ['first', 'second', 'third']);
});

test('all operations of a flush see one time, which is kept in the file (C-2)', async () => {
  const { database } = await openDatabase();
  const times = await Promise.all([1, 2, 3].map(() => database.write((tx) => tx.now)));
  assert.equal(new Set(times).size, 1);
  const kept = await database.read((tx) =>
    tx.get<{ clock_at: number }>('select clock_at from meta'),
  );
  assert.equal(kept?.clock_at, times[0]);
});

test('a lock held by another connection is waited for without blocking the event loop', async () => {
  const { file, database } = await openDatabase();
  const other = lockFile(file);
  let answered = false;
  const written = database.write(charge('late')).finally(() => {
    answered = true;
  });
  // If SQLite itself waited, the loop would turn only after a release or a timeout of the lock.
  for (let turn = 0; turn < 200; turn += 1) {
    await new Promise<void>((resolve) => systemTimers.soon(resolve));
  }
  assert.equal(answered, false, 'it still waits, and the event loop has turned 200 times');
  assert.deepEqual(await owners(database), [], 'reads go on, and see nothing yet');
  other.execute('commit');
  assert.equal(await written, 1);
});

test('a lock that is not let go is StoreUnavailable, known not applied', async () => {
  const { file, database } = await openDatabase(30);
  const other = lockFile(file);
  await assert.rejects(database.write(charge('never')), StoreUnavailable);
  other.execute('rollback');
  assert.deepEqual(await owners(database), []);
  assert.equal(await database.write(charge('again')), 1);
});

test('a commit that fails inside its transaction is known not applied', async () => {
  const { database, connection } = await openDatabase();
  failNextCommit(connection, { undone: false });
  await assert.rejects(database.write(charge('lost')), StoreUnavailable);
  assert.deepEqual(await owners(database), []);
});

test('a commit that fails and leaves no transaction is OutcomeUnknown', async () => {
  const { database, connection } = await openDatabase();
  failNextCommit(connection, { undone: true });
  const isUnknown = (error: unknown): boolean =>
    error instanceof OutcomeUnknown && error.message.includes('disk I/O error');
  await assert.rejects(database.write(charge('perhaps')), isUnknown);
  assert.equal(await database.write(charge('later')), 1);
});

test('a commit without disk space is known not applied, with that reason', async () => {
  const { database, connection } = await openDatabase();
  failNextCommit(connection, { undone: true, as: 'database or disk is full', errcode: 13 });
  const isFull = (error: unknown): boolean =>
    error instanceof StoreUnavailable && /disk is full.*Nothing was written/.test(error.message);
  await assert.rejects(database.write(charge('lost')), isFull);
  assert.deepEqual(await owners(database), []);
});

/** Fails like SQLite: busy keeps the transaction open, a failing disk undoes it. */
function failNextCommit(
  connection: Connection,
  how: { readonly undone: boolean; readonly as?: string; readonly errcode?: number },
): void {
  const run = connection.run.bind(connection);
  connection.run = (sql, parameters) => {
    if (sql !== 'commit') return run(sql, parameters);
    connection.run = run;
    if (how.undone) run('rollback');
    const { as = 'disk I/O error', errcode = 10 } = how;
    throw Object.assign(new Error(as), { errcode });
  };
}

test('hints are sent after the commit, once per key, and a listener that throws stops no other', async () => {
  const { database, connection } = await openDatabase();
  const hinted: string[] = [];
  database.hints.add(() => {
    throw new Error('a bad listener');
  });
  database.hints.add((key) => hinted.push(`${key} ${connection.isInTransaction}`));
  const hint = (tx: Transaction) => tx.hint('k' as LeaseKey);
  const written = Promise.all([database.write(hint), database.write(hint)]);
  assert.deepEqual(hinted, []);
  await written;
  assert.deepEqual(hinted, ['k false']);
});

test('close answers queued operations, then refuses, and may be called twice', async () => {
  const { file, database } = await openDatabase();
  const other = lockFile(file);
  const written = database.write(charge('queued'));
  const closed = database.close();
  await assert.rejects(database.write(charge('late')), /closed/);
  await assert.rejects(owners(database), /closed/);
  other.execute('rollback');
  assert.equal(await written, 1);
  await Promise.all([closed, database.close()]);
});
