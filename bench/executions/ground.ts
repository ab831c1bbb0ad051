// Fresh places for measured processes: a file each, or a database each on one private server.

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../test/services/postgres.ts';
import { demand, readPostgresSettings } from '../floor.ts';
import type { Settings } from '../report.ts';
import type { Place } from './place.ts';

export interface Ground {
  readonly kind: Place['kind'];
  readonly settings: Settings;
  /** Lends a place that nobody has used, and removes it afterwards. */
  with<Answer>(use: (place: Place) => Promise<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

export async function openGround(kind: Place['kind'], folder: string): Promise<Ground> {
  switch (kind) {
    case 'memory':
      return {
        kind,
        settings: { durability: 'none' },
        with: (use) => use({ kind }),
        close: async () => undefined,
      };
    case 'sqlite':
      return sqliteGround(folder);
    case 'postgres':
      return postgresGround();
  }
}

let places = 0;

function newName(): string {
  places += 1;
  return `place_${places}`;
}

/** What is asserted of the file is asserted by each process, on the store's own connection. */
function sqliteGround(folder: string): Ground {
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

async function postgresGround(): Promise<Ground> {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
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
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
