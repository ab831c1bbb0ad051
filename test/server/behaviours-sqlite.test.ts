import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { registerBehaviours } from '../engine/register.ts';
import { overRest } from './over-rest.ts';

registerBehaviours({
  kind: 'sqlite over REST',
  count: 15,
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'hf-rest-'));
    const { store, close } = await overRest(await openSqliteStore({ file: join(folder, 'hf.db') }));
    return {
      store,
      async close() {
        await close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
