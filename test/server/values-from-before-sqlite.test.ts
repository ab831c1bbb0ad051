import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { registerValuesFromBefore } from './values-from-before.ts';

const PUT = `
  insert into blob (digest, at, bytes)
  values (:digest, :at, :bytes)
  on conflict (digest) do nothing`;

registerValuesFromBefore('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hf-before-'));
  const file = join(folder, 'hf.db');
  const store = await openSqliteStore({ file });
  const older = new DatabaseSync(file);
  return {
    store,
    async putAsBefore({ digest, bytes }, agoMs) {
      older.prepare(PUT).run({ digest, bytes, at: Date.now() - agoMs });
    },
    async close() {
      older.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
