import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SqliteGuard, SqliteRowGuard, StaleFence } from '../../src/guards/sqlite.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { type OpenResource, testGuard } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

const guard = new SqliteGuard();
const rowGuard = new SqliteRowGuard({ table: 'account' });

const TABLES = `
  ${guard.createTable};
  create table effect (at integer primary key, resource text not null, fence integer not null);
  create table account (id text primary key, fence integer not null default 0);
  create index effect_resource on effect (resource)`;

const RECORD = 'insert into effect (resource, fence) values (?, ?)';

function openFile(): { file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-guard-sqlite-'));
  const file = join(folder, 'user.db');
  const database = new DatabaseSync(file);
  database.exec(`pragma journal_mode = wal; ${TABLES}`);
  database.close();
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A connection per holder, as separate processes would have. No holder waits inside SQLite. */
function openSqlite(effect: Effect): OpenResource {
  const { file, remove } = openFile();
  const connections = [0, 1, 2].map(() => new DatabaseSync(file, { timeout: 0 }));
  // These tests are not about power failures.
  for (const connection of connections) connection.exec('pragma synchronous = off');
  return {
    resource: () => new SqliteResource(connections, effect),
    close() {
      for (const connection of connections) connection.close();
      remove();
    },
  };
}

interface Effect {
  admit(database: DatabaseSync, holder: Holder): boolean;
  /** Inside the user's transaction. False if stale. */
  check(database: DatabaseSync, holder: Holder): boolean;
  mark(database: DatabaseSync, holder: Holder): number;
}

class SqliteResource implements Resource {
  readonly #connections: readonly DatabaseSync[];
  readonly #effect: Effect;

  constructor(connections: readonly DatabaseSync[], effect: Effect) {
    this.#connections = connections;
    this.#effect = effect;
  }

  async admit(holder: Holder): Promise<boolean> {
    if (holder.mode === 'unguarded') return true;
    return await this.#withWait(holder, (database) => this.#effect.admit(database, holder));
  }

  async write(holder: Holder): Promise<boolean> {
    if (holder.mode === 'read-first') {
      const database = this.#connection(holder);
      if (this.#effect.mark(database, holder) > holder.fenced.fence) return false;
      await holder.pause();
    }
    return await this.#withWait(holder, () => this.#transaction(holder));
  }

  async #transaction(holder: Holder): Promise<boolean> {
    const database = this.#connection(holder);
    const { key, fence } = holder.fenced;
    database.exec(holder.choose(['begin', 'begin immediate']));
    try {
      if (holder.choose([true, false])) {
        database.prepare('select count(*) from effect where resource = ?').get(key);
        await holder.pause();
      }
      const checksFirst = holder.choose([true, false]);
      if (checksFirst && !this.#passes(holder)) return false;
      await holder.pause();
      database.prepare(RECORD).run(key, fence);
      await holder.pause();
      if (!checksFirst && !this.#passes(holder)) return false;
      await holder.pause();
      holder.sending();
      database.exec('commit');
      return true;
    } finally {
      if (database.isTransaction) database.exec('rollback');
    }
  }

  #passes(holder: Holder): boolean {
    return holder.mode !== 'guarded' || this.#effect.check(this.#connection(holder), holder);
  }

  /** Repeats while another holder has the file. */
  async #withWait(
    holder: Holder,
    action: (database: DatabaseSync) => boolean | Promise<boolean>,
  ): Promise<boolean> {
    for (;;) {
      try {
        return await action(this.#connection(holder));
      } catch (error) {
        if (!(error instanceof Error) || !/database is locked/.test(error.message)) throw error;
      }
      await holder.pause();
    }
  }

  #connection({ index }: Holder): DatabaseSync {
    const connection = this.#connections[index];
    assert.ok(connection !== undefined);
    return connection;
  }

  async effects(key: string): Promise<readonly number[]> {
    const [connection] = this.#connections;
    const rows = connection
      ?.prepare('select fence from effect where resource = ? order by at')
      .all(key);
    return (rows ?? []).map((row) => Number(row['fence']));
  }

  async breathe(): Promise<void> {
    await nextTurn();
  }
}

const throughTable: Effect = {
  admit: (database, { fenced }) => guard.admit(database, fenced).kind === 'current',
  check(database, { fenced }) {
    try {
      guard.require(database, fenced);
      return true;
    } catch (error) {
      if (!(error instanceof StaleFence)) throw error;
      return false;
    }
  },
  mark(database, { fenced }) {
    const row = database
      .prepare('select fence from holdfast_fence where resource = ?')
      .get(fenced.key);
    return Number(row?.['fence'] ?? 0);
  },
};

const throughRow: Effect = {
  admit(database, { fenced }) {
    database.prepare('insert or ignore into account (id) values (?)').run(fenced.key);
    return rowGuard.admit(database, fenced, { id: fenced.key }).kind === 'written';
  },
  check: (database, { fenced }) =>
    rowGuard.update(database, fenced, { set: {}, where: { id: fenced.key } }).kind === 'written',
  mark(database, { fenced }) {
    const row = database.prepare('select fence from account where id = ?').get(fenced.key);
    return Number(row?.['fence'] ?? 0);
  },
};

testGuard({ name: 'SQLite table guard', open: () => openSqlite(throughTable) });
testGuard({ name: 'SQLite row guard', open: () => openSqlite(throughRow) });

function openDatabase(t: TestContext): DatabaseSync {
  const { file, remove } = openFile();
  const database = new DatabaseSync(file);
  t.after(() => {
    database.close();
    remove();
  });
  return database;
}

test('a lower fence is refused, an equal one passes, a higher one raises', (t) => {
  const database = openDatabase(t);
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  assert.deepEqual(guard.admit(database, { key: 'a', fence: SECOND }), { kind: 'current' });
  assert.deepEqual(guard.admit(database, { key: 'a', fence: SECOND }), { kind: 'current' });
  assert.deepEqual(guard.admit(database, { key: 'a', fence: FIRST }), stale);
  assert.deepEqual(guard.admit(database, { key: 'a', fence: FIRST }), stale, 'never lowered');
  assert.deepEqual(guard.admit(database, { key: 'b', fence: FIRST }), { kind: 'current' });
  assert.deepEqual(guard.admit(database, { key: 'a', fence: THIRD }), { kind: 'current' });
});

test('a check outside of a transaction is an error', (t) => {
  const database = openDatabase(t);
  assert.throws(() => guard.check(database, { key: 'a', fence: FIRST }), /begin immediate/);
});

test('a stale write is undone with its transaction', (t) => {
  const database = openDatabase(t);
  guard.admit(database, { key: 'a', fence: SECOND });
  database.exec('begin');
  database.prepare(RECORD).run('a', FIRST);
  assert.throws(() => guard.require(database, { key: 'a', fence: FIRST }), StaleFence);
  database.exec('rollback');
  assert.equal(database.prepare('select count(*) as n from effect').get()?.['n'], 0);
});

test('a mark that no guard wrote is a fault, not a pass', (t) => {
  const database = openDatabase(t);
  database.exec("insert into holdfast_fence values ('a', 9007199254740993), ('b', 'x')");
  const answers = ['a', 'b'].map((key) => () => guard.admit(database, { key, fence: FIRST }));
  for (const answer of answers) assert.throws(answer);
});

test('a row guard distinguishes a stale row from a missing one', (t) => {
  const database = openDatabase(t);
  const where = { id: 'a' };
  const fenced = { key: 'a', fence: FIRST };
  assert.deepEqual(rowGuard.admit(database, fenced, where), { kind: 'missing' });
  database.exec("insert into account (id) values ('a')");
  assert.deepEqual(rowGuard.admit(database, fenced, where), { kind: 'written', rows: 1 });
  const later = { key: 'a', fence: SECOND };
  assert.equal(rowGuard.update(database, later, { set: { id: 'a' }, where }).kind, 'written');
  assert.deepEqual(rowGuard.update(database, fenced, { set: { id: 'b' }, where }), {
    kind: 'stale',
    resource: 'a',
    presented: FIRST,
    newest: SECOND,
  });
});

test('names that are not identifiers never reach the SQL', (t) => {
  const database = openDatabase(t);
  assert.throws(() => new SqliteGuard({ table: 'a; drop table b' }), /a name as in SQL/);
  const fenced = { key: 'a', fence: FIRST };
  const bad = { set: { 'id = 1 --': 1 }, where: { id: 'a' } };
  assert.throws(() => rowGuard.update(database, fenced, bad), /a name as in SQL/);
  assert.throws(() => rowGuard.admit(database, fenced, {}), /at least one column/);
  assert.doesNotThrow(() => new SqliteGuard({ table: '"my fences"' }));
});
