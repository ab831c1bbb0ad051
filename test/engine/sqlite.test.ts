import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { registerBehaviours } from './register.ts';

registerBehaviours({
  kind: 'sqlite',
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'hf-engine-'));
    const store = await openSqliteStore({ file: join(folder, 'hf.db') });
    return {
      store,
      async close() {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
