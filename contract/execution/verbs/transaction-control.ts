// Work that tries to end the lent transaction. Its writes and its events are kept together
// or not at all, and no other write is affected.

import assert from 'node:assert/strict';
import type {
  CoordinatorStore,
  Transact,
  Transacted,
} from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  type Held,
  later,
  mustRecord,
  running,
  step,
  transacting,
  worker,
  writing,
} from '../worker.ts';

interface SqliteConnection {
  prepare(sql: string): { run(): unknown; all(): readonly { readonly value: string }[] };
}

interface PostgresClient {
  query(sql: string): Promise<{ readonly rows: readonly { readonly value: string }[] }>;
}

/** The statements for one kind of store, with a table of the user's. */
interface Dialect {
  readonly table: string;
  readonly setUp: readonly string[];
  /**
   * Each statement would end the transaction or change more than the work's own rows, if it were
   * allowed.
   */
  readonly controls: readonly string[];
  /** Runs the statements in order. Those that start with `?` may fail. */
  play(...statements: readonly string[]): Transact<unknown>['work'];
  readonly values: Transact<readonly string[]>['work'];
}

type Outcome = Transacted<unknown>;

/** Undefined for a store whose connections are unknown here. */
function dialectOf(store: CoordinatorStore, { id }: Held): Dialect | undefined {
  const table = `mine_${id.replaceAll('-', '_')}`;
  if (store.kind === 'sqlite' || store.kind === 'memory') return sqliteDialect(table);
  return store.kind === 'postgres' ? postgresDialect(`public.${table}`) : undefined;
}

function sqliteDialect(table: string): Dialect {
  return {
    table,
    setUp: [
      `create table ${table} (value text unique)`,
      `create table ${table}_one (value text unique on conflict rollback)`,
      `create table ${table}_two (value text)`,
      `create trigger ${table}_guard before insert on ${table}_two begin select raise(rollback, 'no'); end`,
      `insert into ${table} values ('taken')`,
      `insert into ${table}_one values ('taken')`,
    ],
    controls: [
      `insert or rollback into ${table} values ('taken')`,
      `insert into ${table}_one values ('taken')`,
      `insert into ${table}_two values ('any')`,
      ...['commit', 'rollback', 'end', 'begin', 'savepoint a', 'release work', 'rollback to work'],
      ...['vacuum', 'pragma user_version = 7', `attach ':memory:' as other`, 'detach main'],
      ...['/* now */ commit', '-- now\ncommit', ';commit', ' \n\tCOMMIT', '\ufeffcommit'],
    ],
    play:
      (...statements) =>
      (connection) => {
        for (const statement of statements) {
          try {
            (connection as SqliteConnection).prepare(statement.replace(/^\?/, '')).run();
          } catch (error) {
            if (!statement.startsWith('?')) throw error;
          }
        }
      },
    values: (connection) =>
      (connection as SqliteConnection)
        .prepare(`select value from ${table} order by value`)
        .all()
        .map(({ value }) => value),
  };
}

function postgresDialect(table: string): Dialect {
  return {
    table,
    setUp: [`create table ${table} (value text unique)`, `insert into ${table} values ('taken')`],
    controls: [
      ...['commit', 'rollback', 'end', 'abort', 'begin', 'start transaction', 'commit and chain'],
      ...['rollback and chain', `prepare transaction 'a'`, 'select 1; commit', 'commit; begin'],
      ...['/* /* now */ */ commit', '-- now\ncommit', ';commit', ' \n\tCOMMIT', 'commit work'],
      ...['do $$ begin commit; end $$', 'rollback to savepoint nowhere', 'release nowhere'],
      ...['deallocate all', 'discard plans', `set statement_timeout = '1h'`, 'reset all'],
      ...['set session characteristics as transaction read only', 'set role none'],
    ],
    play:
      (...statements) =>
      async (connection) => {
        for (const statement of statements) {
          try {
            await (connection as PostgresClient).query(statement.replace(/^\?/, ''));
          } catch (error) {
            if (!statement.startsWith('?')) throw error;
          }
        }
      },
    values: async (connection) => {
      const sql = `select value from ${table} order by value`;
      const { rows } = await (connection as PostgresClient).query(sql);
      return rows.map(({ value }) => value);
    },
  };
}

/** Prepares an execution, and a table with one value. */
async function prepared(
  store: CoordinatorStore,
): Promise<{ readonly held: Held; readonly dialect: Dialect | undefined }> {
  const held = await running(store, await worker(store));
  const dialect = dialectOf(store, held);
  if (dialect === undefined) return { held, dialect };
  const request = transacting(held, dialect.play(...dialect.setUp));
  expectKind(await store.executions.transact(request), 'recorded');
  return { held: later(held), dialect };
}

async function valuesOf(
  store: CoordinatorStore,
  dialect: Dialect,
  held: Held,
): Promise<readonly string[]> {
  const request = transacting(held, dialect.values, step('look'));
  return expectKind(await store.executions.transact(request), 'recorded').result;
}

export const transactionControlCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-23, X-73',
    name: 'work that ends its transaction, or tries to, fails, and none of its writes are kept',
    async run({ store }) {
      const { held, dialect } = await prepared(store);
      if (dialect === undefined) return;
      const { table, controls } = dialect;
      for (const control of controls) {
        const work = dialect.play(`insert into ${table} values ('before')`, control);
        const outcome: Outcome = await leavesUnchanged(store, () =>
          store.executions.transact(transacting(held, work)),
        );
        assert.equal(outcome.kind, 'threw', `${control}: ${JSON.stringify(outcome)}`);
      }
      assert.deepEqual(await valuesOf(store, dialect, held), ['taken']);
    },
  },
  {
    upholds: 'X-23',
    name: 'if work continues after it tried to end its transaction, all or none of its writes are kept',
    async run({ store }) {
      const { held: first, dialect } = await prepared(store);
      if (dialect === undefined) return;
      const { table, controls } = dialect;
      let held = first;
      const expected = ['taken'];
      for (const [nth, control] of controls.entries()) {
        const [before, after] = [`${nth} before`, `${nth} later`];
        const work = dialect.play(
          `insert into ${table} values ('${before}')`,
          `?${control}`,
          `?insert into ${table} values ('${after}')`,
        );
        const outcome: Outcome = await store.executions.transact(transacting(held, work));
        if (outcome.kind === 'recorded') expected.push(before, after);
        else assert.equal(outcome.kind, 'threw', `${control}: ${JSON.stringify(outcome)}`);
        if (outcome.kind === 'recorded') held = later(held);
        const values = await valuesOf(store, dialect, held);
        held = later(held);
        assert.deepEqual(values.toSorted(), expected.toSorted(), control);
      }
    },
  },
  {
    upholds: 'X-23, X-1, X-73',
    name: 'work that ends its transaction does not affect other writes at the same time',
    async run({ store }) {
      const { held, dialect } = await prepared(store);
      if (dialect === undefined) return;
      const others: Held[] = [];
      for (const name of ['bob', 'cyd', 'dan']) {
        others.push(await running(store, await worker(store, name)));
      }
      const [bob, cyd, dan] = others;
      assert(bob !== undefined && cyd !== undefined && dan !== undefined);
      const [first, second = ''] = dialect.controls;
      const { executions } = store;
      const control = (sql: string | undefined, who: Held) =>
        executions.transact(transacting(who, dialect.play(sql ?? '')));
      const outcomes = await Promise.all([
        executions.record(writing(bob)),
        control(first, held),
        executions.record(writing(cyd)),
        control(second, dan),
        executions.record(writing(later(bob))),
      ]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ['recorded', 'threw', 'recorded', 'threw', 'recorded'],
      );
      for (const who of [later(bob, 2), later(cyd), dan, held]) await mustRecord(store, who);
    },
  },
  {
    upholds: 'X-23',
    name: 'on stores with savepoints, work may undo its own writes',
    async run({ store }) {
      const { held, dialect } = await prepared(store);
      if (dialect === undefined || store.kind !== 'postgres') return;
      const { table } = dialect;
      const work = dialect.play(
        `insert into ${table} values ('kept')`,
        'savepoint mine',
        `?insert into ${table} values ('taken')`,
        'rollback to mine',
        `insert into ${table} values ('kept too')`,
      );
      const outcome = await store.executions.transact(transacting(held, work));
      expectKind(outcome, 'recorded');
      const values = await valuesOf(store, dialect, later(held));
      assert.deepEqual(values, ['kept', 'kept too', 'taken']);
    },
  },
];
