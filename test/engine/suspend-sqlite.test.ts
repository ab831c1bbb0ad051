import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { registerSamples } from './suspend/sample.ts';

registerSamples('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hf-suspend-'));
  const store = await openSqliteStore({ file: join(folder, 'hf.db') });
  return {
    store,
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
