// The user's own writes in the transaction that appends. The type of the connection differs
// by store.

import assert from 'node:assert/strict';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, leavesUnchanged } from '../expect.ts';
import {
  endSessionOf,
  type Held,
  kindsOf,
  later,
  mustClaim,
  mustRead,
  mustRecord,
  running,
  signalling,
  step,
  transacting,
  worker,
  writing,
} from '../worker.ts';

type Maybe<Value> = Value | Promise<Value>;

/** A table of the user's, reached through the store's own connection. */
interface UserTable {
  create(connection: unknown): Maybe<unknown>;
  add(connection: unknown, value: string): Maybe<unknown>;
  all(connection: unknown): Maybe<readonly string[]>;
}

interface SqliteConnection {
  prepare(sql: string): { run(): unknown; all(): readonly { readonly value: string }[] };
}

interface PostgresClient {
  query(sql: string): Promise<{ readonly rows: readonly { readonly value: string }[] }>;
}

/** Undefined for a store whose connections are unknown here. */
function userTable(store: CoordinatorStore, { id }: Held): UserTable | undefined {
  const name = `user_table_${id.replaceAll('-', '_')}`;
  const [create, all] = [
    `create table ${name} (value text)`,
    `select value from ${name} order by value`,
  ];
  const insert = (value: string): string => `insert into ${name} values ('${value}')`;
  if (store.kind === 'sqlite' || store.kind === 'memory') {
    const sqlite = (connection: unknown) => connection as SqliteConnection;
    return {
      create: (connection) => sqlite(connection).prepare(create).run(),
      add: (connection, value) => sqlite(connection).prepare(insert(value)).run(),
      all: (connection) =>
        sqlite(connection)
          .prepare(all)
          .all()
          .map(({ value }) => value),
    };
  }
  if (store.kind === 'postgres') {
    const client = (connection: unknown) => connection as PostgresClient;
    return {
      create: (connection) => client(connection).query(create),
      add: (connection, value) => client(connection).query(insert(value)),
      all: async (connection) => (await client(connection).query(all)).rows.map((row) => row.value),
    };
  }
  return undefined;
}

/** Returns the content of the user's table, as another transact sees it. */
async function valuesIn(
  store: CoordinatorStore,
  table: UserTable,
  held: Held,
): Promise<readonly string[]> {
  const request = transacting(held, (connection) => table.all(connection), step('look'));
  return expectKind(await store.executions.transact(request), 'recorded').result;
}

export const transactCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-23',
    name: 'a transact returns the result of its work and appends its events',
    async run({ store, now }) {
      const held = await running(store, await worker(store));
      const outcome = await store.executions.transact({
        ...transacting(held, () => 41),
        events: (result: number) => [step('count', result + 1)],
      });
      assert.deepEqual(outcome, { kind: 'recorded', inboxCount: 0, at: now(), result: 41 });
      const [event] = await store.executions.history({ id: held.id, after: 2, limit: 9 });
      assert.deepEqual(event, { ...step('count', 42), seq: 3, at: now(), fence: held.fence });
      await mustRecord(store, later(held));
    },
  },
  {
    upholds: 'X-23',
    name: 'the writes of the work are stored together with the events, and neither is stored if it throws',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const table = userTable(store, held);
      if (table === undefined) return;
      const { executions } = store;
      const create = transacting(held, (connection) => table.create(connection));
      expectKind(await executions.transact(create), 'recorded');
      const add = transacting(later(held), (connection) => table.add(connection, 'paid'));
      expectKind(await executions.transact(add), 'recorded');
      const error = new Error('no money');
      const fail = transacting(later(held, 2), (connection): Maybe<never> => {
        const added = table.add(connection, 'paid twice');
        if (!(added instanceof Promise)) throw error;
        return added.then(() => {
          throw error;
        });
      });
      const threw = await leavesUnchanged(store, () => executions.transact(fail));
      assert.deepEqual(threw, { kind: 'threw', error });
      assert.deepEqual(await valuesIn(store, table, later(held, 2)), ['paid']);
    },
  },
  {
    upholds: 'X-23',
    name: 'a refused transact stores nothing, not even the writes of the work',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const table = userTable(store, held);
      if (table === undefined) return;
      const { executions } = store;
      const create = transacting(held, (connection) => table.create(connection));
      expectKind(await executions.transact(create), 'recorded');
      await endSessionOf(store, ann);
      const add = transacting(later(held), (connection) => table.add(connection, 'late'));
      await expectRefusedUnchanged(store, 'claim-ended', () => executions.transact(add));
      const bob = await worker(store, 'bob');
      const next = await mustClaim(store, bob, held.id);
      await expectRefusedUnchanged(store, 'superseded', () => executions.transact(add));
      assert.deepEqual(await valuesIn(store, table, next), []);
    },
  },
  {
    upholds: 'X-23',
    name: 'work that throws and events that throw leave nothing behind',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const error = new Error('no money');
      const thrower = (): never => {
        throw error;
      };
      for (const request of [
        transacting(held, thrower),
        { ...transacting(held, () => 1), events: thrower },
      ]) {
        const outcome = await leavesUnchanged(store, () => store.executions.transact(request));
        assert.deepEqual(outcome, { kind: 'threw', error });
      }
      await mustRecord(store, held);
    },
  },
  {
    upholds: 'X-23, X-4',
    name: 'if the seq is taken, the work does not run',
    async run({ store }) {
      const held = await running(store, await worker(store));
      let runs = 0;
      const request = transacting(held, () => {
        runs += 1;
        return runs;
      });
      expectKind(await store.executions.transact(request), 'recorded');
      await expectRefusedUnchanged(store, 'seq-taken', () => store.executions.transact(request));
      const gap = { ...request, seq: held.seq + 7 };
      await expectRefusedUnchanged(store, 'seq-taken', () => store.executions.transact(gap));
      assert.equal(runs, 1);
      const replayed = writing(held);
      expectKind(await store.executions.record(replayed), 'recorded');
    },
  },
  {
    upholds: 'X-23, X-5',
    name: 'the reply to a transact has the number of messages, and its progress is stored',
    async run({ store }) {
      const held = await running(store, await worker(store));
      await store.executions.signal(signalling(held.id));
      const progress = '{"percent":50}' as never;
      const request = { ...transacting(held, () => 'ok'), progress };
      const outcome = expectKind(await store.executions.transact(request), 'recorded');
      assert.equal(outcome.inboxCount, 1);
      assert.equal((await mustRead(store, held.id)).progress, progress);
      assert.deepEqual(await kindsOf(store, held.id), ['submitted', 'claimed', 'step-completed']);
    },
  },
];
