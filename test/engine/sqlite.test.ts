import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { registerBehaviours } from './register.ts';

registerBehaviours({
  kind: 'sqlite',
  // The memory store runs the same code (ADR 0042).
  count: 30,
  async open() {
    const { file, remove } = await freshSqliteFile();
    const store = await openSqliteStore({ file });
    return {
      store,
      async close() {
        await store.close();
        await remove();
      },
    };
  },
});
