// The user's database: a table of effects, guarded by a table of marks or by the user's own rows.
// The schedule interleaves the statements of the holders' transactions.

import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { PostgresGuard, PostgresRowGuard, StaleFence } from '../../src/guards/postgres.ts';
import { postgresForTests } from '../services/postgres.ts';
import type { OpenResource } from './register.ts';
import type { Holder, Resource } from './schedules.ts';

const ISOLATION: readonly string[] = ['read committed', 'repeatable read', 'serializable'];
const SERIALIZATION_FAILURE = '40001';
/** Turns of the event loop for one answer of the server. A slower step may be overtaken. */
const TURNS = 10;

const guard: PostgresGuard = new PostgresGuard();
const rowGuard: PostgresRowGuard = new PostgresRowGuard({ table: 'account' });

export const TABLES: string = `
  ${guard.createTable};
  create table effect (
    at bigint generated always as identity primary key,
    resource text not null,
    fence bigint not null
  );
  create index effect_resource on effect (resource);
  create table account (id text primary key, fence bigint not null default 0)`;

export interface Check {
  admit(client: pg.Client, holder: Holder): Promise<boolean>;
  /** Inside the user's transaction. False if stale. */
  passes(client: pg.Client, holder: Holder): Promise<boolean>;
  mark(client: pg.Client, holder: Holder): Promise<number>;
}

export const throughTable: Check = {
  admit: async (client, { fenced }) => (await guard.admit(client, fenced)).kind === 'current',
  async passes(client, { fenced }) {
    try {
      await guard.require(client, fenced);
      return true;
    } catch (error) {
      if (!(error instanceof StaleFence)) throw error;
      return false;
    }
  },
  mark: (client, { fenced }) =>
    readMark(client, 'select fence from holdfast_fence where resource = $1', fenced.key),
};

export const throughRow: Check = {
  async admit(client, { fenced }) {
    await client.query('insert into account (id) values ($1) on conflict do nothing', [fenced.key]);
    return (await rowGuard.admit(client, fenced, { id: fenced.key })).kind === 'written';
  },
  async passes(client, { fenced }) {
    const change = { set: {}, where: { id: fenced.key } };
    return (await rowGuard.update(client, fenced, change)).kind === 'written';
  },
  mark: (client, { fenced }) =>
    readMark(client, 'select fence from account where id = $1', fenced.key),
};

async function readMark(client: pg.Client, sql: string, key: string): Promise<number> {
  const { rows } = await client.query<{ fence: string }>(sql, [key]);
  return Number(rows[0]?.fence ?? 0);
}

export async function openPostgres(check: Check): Promise<OpenResource> {
  const database = await postgresForTests();
  const clients: pg.Client[] = [];
  const connect = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    clients.push(client);
    // These tests are not about power failures.
    await client.query('set synchronous_commit = off');
    return client;
  };
  const owner = await connect();
  await owner.query(TABLES);
  return {
    async resource() {
      const holders = await Promise.all([0, 1, 2].map(connect));
      return new PostgresResource(holders, await connect(), check);
    },
    async close() {
      await Promise.all(clients.map((client) => client.end()));
      await database.release();
    },
  };
}

class PostgresResource implements Resource {
  readonly #clients: readonly pg.Client[];
  readonly #observer: pg.Client;
  readonly #check: Check;

  constructor(clients: readonly pg.Client[], observer: pg.Client, check: Check) {
    this.#clients = clients;
    this.#observer = observer;
    this.#check = check;
  }

  async admit(holder: Holder): Promise<boolean> {
    if (holder.mode === 'unguarded') return true;
    return await this.#check.admit(this.#client(holder), holder);
  }

  async write(holder: Holder): Promise<boolean> {
    if (holder.mode === 'read-first') {
      const mark = await this.#check.mark(this.#client(holder), holder);
      if (mark > holder.fenced.fence) return false;
      await holder.pause();
    }
    for (;;) {
      const outcome = await this.#transaction(holder);
      if (outcome !== 'again') return outcome === 'committed';
      await holder.pause();
    }
  }

  /** As a user would write it, with a retry after 40001, as a user must. */
  async #transaction(holder: Holder): Promise<'committed' | 'stale' | 'again'> {
    const client = this.#client(holder);
    await client.query(`begin isolation level ${holder.choose(ISOLATION)}`);
    try {
      if (await this.#work(client, holder)) return 'committed';
      await client.query('rollback');
      return 'stale';
    } catch (error) {
      await client.query('rollback');
      if (isSerializationFailure(error)) return 'again';
      throw error;
    }
  }

  async #work(client: pg.Client, holder: Holder): Promise<boolean> {
    const { key, fence } = holder.fenced;
    if (holder.choose([true, false])) {
      await client.query('select count(*) from effect where resource = $1', [key]);
      await holder.pause();
    }
    const isGuarded = holder.mode === 'guarded';
    if (isGuarded && !(await this.#check.passes(client, holder))) return false;
    await holder.pause();
    await client.query('insert into effect (resource, fence) values ($1, $2)', [key, fence]);
    await holder.pause();
    holder.sending();
    await client.query('commit');
    return true;
  }

  #client({ index }: Holder): pg.Client {
    const client = this.#clients[index];
    if (client === undefined) throw new Error(`there is no connection for holder ${index}`);
    return client;
  }

  async effects(key: string): Promise<readonly number[]> {
    const { rows } = await this.#observer.query<{ fence: string }>(
      'select fence from effect where resource = $1 order by at',
      [key],
    );
    return rows.map(({ fence }) => Number(fence));
  }

  async breathe(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns += 1) await nextTurn();
  }
}

function isSerializationFailure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === SERIALIZATION_FAILURE;
}
