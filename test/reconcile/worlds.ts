// A store with a clock that stands still, and a tool that breaks its rows.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { ManualClock } from '../../contract/index.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { type Tamper, tamperBySql } from './tamper.ts';

export interface World {
  readonly store: CoordinatorStore;
  readonly tamper: Tamper;
  advance(ms: number): Promise<void>;
  now(): number;
  close(): Promise<void>;
}

export async function sqliteWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-reconcile-'));
  const file = join(folder, 'store.db');
  const clock = new ManualClock();
  const store = await openSqliteStore({ file, clock });
  const hand = new DatabaseSync(file);
  return {
    store,
    tamper: tamperBySql(async (sql) => hand.exec(sql), ''),
    advance: async (ms) => clock.jumpWall(ms),
    now: () => clock.wallMs(),
    async close() {
      hand.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

let schemas = 0;

export async function postgresWorld(url: string): Promise<World> {
  schemas += 1;
  const schema = `broken_${schemas}`;
  const hand = new pg.Client({ connectionString: url });
  await hand.connect();
  let nowMs = Date.UTC(2030, 0, 1);
  await hand.query(`create table public.${schema}_clock as select ${nowMs}::bigint as ms`);
  const nowSql = `(select ms from public.${schema}_clock)`;
  const store = await openPostgresStore({ url, schema, nowSql, connectionsMax: 4 });
  return {
    store,
    tamper: tamperBySql(async (sql) => void (await hand.query(sql)), `${schema}.`),
    async advance(ms) {
      nowMs += ms;
      await hand.query(`update public.${schema}_clock set ms = $1`, [nowMs]);
    },
    now: () => nowMs,
    async close() {
      await store.close();
      await hand.query(`drop schema ${schema} cascade`);
      await hand.query(`drop table public.${schema}_clock`);
      await hand.end();
    },
  };
}
