// Freezes and kills real processes while stores are exported and imported, in both directions.

import { join } from 'node:path';
import { test } from 'node:test';
import { inFolder } from '../cli/spawned.ts';
import type { StorePlace } from '../load/place.ts';
import { postgresForTests } from '../services/postgres.ts';
import { survivesKills } from './killed.ts';
import { refusesTheLate } from './late-holder.ts';
import { movesUnderLoad } from './under-load.ts';

interface Ways {
  readonly from: StorePlace;
  readonly to: StorePlace;
}

const WAYS: readonly (readonly [string, (server: StorePlace, file: StorePlace) => Ways])[] = [
  ['PostgreSQL to SQLite', (server, file) => ({ from: server, to: file })],
  ['SQLite to PostgreSQL', (server, file) => ({ from: file, to: server })],
];

type Run = (folder: string, ways: Ways) => Promise<void>;

const CASES: readonly (readonly [string, Run])[] = [
  [
    'EX-2: under load every acknowledged write arrives, and no recorded step runs twice',
    (folder, ways) => movesUnderLoad(folder, { ...ways, enough: 150 }),
  ],
  ['EX-1, EX-4: a frozen worker that wakes after the import is refused', refusesTheLate],
  ['EX-5, EX-8: an export or import that is killed at any point can be repeated', survivesKills],
];

for (const [way, waysOf] of WAYS) {
  for (const [name, run] of CASES) {
    test(`${name} (${way})`, async () => {
      const { url, release } = await postgresForTests();
      try {
        await inFolder((folder) => {
          const server = { kind: 'postgres', url, schema: 'imported' } as const;
          const file = { kind: 'sqlite', file: join(folder, 'store.db') } as const;
          return run(folder, waysOf(server, file));
        });
      } finally {
        await release();
      }
    });
  }
}
