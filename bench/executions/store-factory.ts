// Creates a new store for each measured process: a file, or a database on one private server.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../test/services/postgres.ts';
import { demand, readPostgresSettings } from '../floor.ts';
import type { Settings } from '../report.ts';
import type { StoreLocation } from './store-location.ts';

export interface StoreFactory {
  readonly kind: StoreLocation['kind'];
  readonly settings: Settings;
  /** Creates a store, passes its location to `use`, and deletes it afterwards. */
  with<Result>(use: (location: StoreLocation) => Promise<Result>): Promise<Result>;
  /** Stops the server as a crash does, and starts it again. Absent without a server. */
  restart?(): Promise<void>;
  close(): Promise<void>;
}

export async function openStoreFactory(
  kind: StoreLocation['kind'],
  folder: string,
): Promise<StoreFactory> {
  switch (kind) {
    case 'memory':
      return {
        kind,
        settings: { durability: 'none' },
        with: (use) => use({ kind }),
        close: async () => undefined,
      };
    case 'sqlite':
      return sqliteFactory(folder);
    case 'postgres':
      return postgresFactory();
  }
}

let stores = 0;

function newName(): string {
  stores += 1;
  return `store_${stores}`;
}

/** Each measured process checks these settings on the connection of its store. */
function sqliteFactory(folder: string): StoreFactory {
  return {
    kind: 'sqlite',
    settings: { journal_mode: 'wal', synchronous: 'FULL' },
    with: async (use) => {
      const own = join(folder, newName());
      mkdirSync(own);
      try {
        return await use({ kind: 'sqlite', file: join(own, 'store.db') });
      } finally {
        rmSync(own, { recursive: true, force: true });
      }
    },
    close: async () => undefined,
  };
}

async function postgresFactory(): Promise<StoreFactory> {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  // A restart breaks its idle connection, and the next query opens another.
  pool.on('error', () => undefined);
  const close = async (): Promise<void> => {
    await pool.end();
    await server.stop();
  };
  try {
    const settings = await readPostgresSettings(pool);
    demand(settings, { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' });
    return {
      kind: 'postgres',
      settings,
      with: async (use) => {
        const name = newName();
        await pool.query(`create database ${name}`);
        const url = new URL(server.url);
        url.pathname = `/${name}`;
        try {
          return await use({ kind: 'postgres', url: url.href });
        } finally {
          await pool.query(`drop database ${name} with (force)`);
        }
      },
      restart: () => server.restart('immediate'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
