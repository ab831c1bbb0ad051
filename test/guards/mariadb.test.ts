import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { MysqlGuard, type MysqlTransaction, StaleFence } from '../../src/guards/mysql.ts';
import { type PrivateMariadb, startMariadb } from '../services/mariadb.ts';
import { FIRST, SECOND, THIRD } from './fences.ts';
import { type OpenResource, testGuard } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

/** The part of the driver that a user of the guard calls. */
interface Connection extends MysqlTransaction {
  query(sql: string, values?: unknown[]): Promise<[unknown, ...unknown[]]>;
  beginTransaction(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  end(): Promise<void>;
}

interface Driver {
  createConnection(options: object): Promise<Connection>;
  createPool(options: object): Connection;
}

// The driver is an optional peer. Loaded like this, only this test needs it.
const { createConnection, createPool }: Driver = createRequire(import.meta.url)('mysql2/promise');

const ISOLATION = ['read committed', 'repeatable read', 'serializable'];
/** Deadlock, lock wait timeout, and a row that changed since the snapshot. */
const RETRIED: readonly unknown[] = ['ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD'];
const LANES = 4;
/** Turns of the event loop for one reply of the server. */
const TURNS = 10;

let mariadb: PrivateMariadb | undefined;
let databases = 0;
const guard = new MysqlGuard();

before(async () => {
  mariadb = await startMariadb();
});

after(async () => {
  await mariadb?.stop();
});

function connect(database?: string): Promise<Connection> {
  return createConnection({ socketPath: mariadb?.socket ?? '', ...(database && { database }) });
}

async function freshDatabase(): Promise<string> {
  databases += 1;
  const name = `app_${databases}`;
  const owner = await connect();
  await owner.query(`create database ${name}`);
  await owner.query(`use ${name}`);
  await owner.query(guard.createTable);
  await owner.query(
    'create table effect (at bigint auto_increment primary key, resource varchar(99), fence bigint, index (resource)) engine = InnoDB',
  );
  await owner.end();
  return name;
}

async function numbersIn(connection: Connection, sql: string, key: string): Promise<number[]> {
  const [rows] = await connection.query(sql, [key]);
  return (rows as readonly { readonly fence: unknown }[]).map(({ fence }) => Number(fence));
}

class MariadbResource implements Resource {
  readonly #holders: readonly Connection[];
  readonly #observer: Connection;

  constructor(holders: readonly Connection[], observer: Connection) {
    this.#holders = holders;
    this.#observer = observer;
  }

  async admit({ index, fenced, mode }: Holder): Promise<boolean> {
    if (mode === 'unguarded') return true;
    for (;;) {
      try {
        return (await guard.admit(this.#holder(index), fenced)).kind === 'current';
      } catch (error) {
        if (!isRetried(error)) throw error;
      }
    }
  }

  async write(holder: Holder): Promise<boolean> {
    const { fenced, index, mode } = holder;
    if (mode === 'read-first') {
      const sql = 'select fence from holdfast_fence where resource = ?';
      const [mark = 0] = await numbersIn(this.#holder(index), sql, fenced.key);
      if (mark > fenced.fence) return false;
      await holder.pause();
    }
    for (;;) {
      const outcome = await this.#transaction(holder);
      if (outcome !== 'again') return outcome === 'committed';
      await holder.pause();
    }
  }

  /** As a user would write it, with a retry after a deadlock, as a user must. */
  async #transaction(holder: Holder): Promise<'committed' | 'stale' | 'again'> {
    const connection = this.#holder(holder.index);
    await connection.query(`set transaction isolation level ${holder.choose(ISOLATION)}`);
    await connection.beginTransaction();
    try {
      if (await this.#work(connection, holder)) return 'committed';
      await connection.rollback();
      return 'stale';
    } catch (error) {
      await connection.rollback();
      if (isRetried(error)) return 'again';
      throw error;
    }
  }

  async #work(connection: Connection, holder: Holder): Promise<boolean> {
    const { key, fence } = holder.fenced;
    if (holder.choose([true, false])) {
      await connection.query('select 1 from holdfast_fence where resource = ?', [key]);
      await holder.pause();
    }
    const isGuarded = holder.mode === 'guarded';
    if (isGuarded && (await guard.check(connection, holder.fenced)).kind === 'stale') return false;
    await holder.pause();
    await connection.query('insert into effect (resource, fence) values (?, ?)', [key, fence]);
    await holder.pause();
    holder.sending();
    await connection.commit();
    return true;
  }

  #holder(index: number): Connection {
    const connection = this.#holders[index];
    if (connection === undefined) throw new Error(`there is no connection for holder ${index}`);
    return connection;
  }

  effects(key: string): Promise<readonly number[]> {
    const sql = 'select fence from effect where resource = ? order by at';
    return numbersIn(this.#observer, sql, key);
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }
}

function isRetried(error: unknown): boolean {
  return error instanceof Error && 'code' in error && RETRIED.includes(error.code);
}

async function openMariadb(): Promise<OpenResource> {
  const name = await freshDatabase();
  const all: Connection[] = [];
  const open = async (): Promise<Connection> => {
    const connection = await connect(name);
    all.push(connection);
    return connection;
  };
  return {
    async resource() {
      return new MariadbResource(await Promise.all([open(), open(), open()]), await open());
    },
    async close() {
      await Promise.all(all.map((connection) => connection.end()));
    },
  };
}

testGuard({ name: 'MariaDB guard', open: openMariadb, lanes: LANES, schedules: 60 });

async function opened(t: TestContext): Promise<Connection> {
  const connection = await connect(await freshDatabase());
  t.after(() => connection.end());
  return connection;
}

test('a lower fence is refused, an equal one passes, a higher one raises', async (t) => {
  const connection = await opened(t);
  const stale = { kind: 'stale', resource: 'a', presented: FIRST, newest: SECOND };
  assert.deepEqual(await guard.admit(connection, { key: 'a', fence: SECOND }), { kind: 'current' });
  assert.deepEqual(await guard.admit(connection, { key: 'a', fence: SECOND }), { kind: 'current' });
  assert.deepEqual(await guard.admit(connection, { key: 'a', fence: FIRST }), stale);
  assert.deepEqual(await guard.admit(connection, { key: 'A', fence: FIRST }), { kind: 'current' });
  assert.deepEqual(await guard.admit(connection, { key: 'a', fence: THIRD }), { kind: 'current' });
  const sql = 'select fence from holdfast_fence where resource = ?';
  assert.deepEqual(await numbersIn(connection, sql, 'a'), [THIRD], 'every digit is kept');
});

test('a check needs the transaction of the write', async (t) => {
  const connection = await opened(t);
  const fenced = { key: 'a', fence: FIRST };
  await assert.rejects(guard.check(connection, fenced), /got a connection without one/);
  const pool = createPool({ socketPath: mariadb?.socket ?? '' });
  t.after(() => pool.end());
  await assert.rejects(guard.require(pool, fenced), /got a pool/);
  await guard.admit(connection, { key: 'a', fence: SECOND });
  await connection.beginTransaction();
  await assert.rejects(guard.require(connection, fenced), StaleFence);
  await guard.require(connection, { key: 'a', fence: SECOND });
  await connection.rollback();
});

test('a missing table and a mark that no guard wrote are faults', async (t) => {
  const connection = await opened(t);
  const elsewhere = new MysqlGuard({ table: 'other_fence' });
  const fenced = { key: 'a', fence: FIRST };
  await assert.rejects(elsewhere.admit(connection, fenced), /other_fence.*createTable/s);
  const strange = FIRST + 2 ** 53;
  await connection.query('insert into holdfast_fence values (?, ?)', ['a', strange]);
  await assert.rejects(guard.admit(connection, fenced), /not a fence/);
});
