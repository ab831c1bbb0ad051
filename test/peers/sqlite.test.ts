import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { registerScenarios } from './register.ts';

registerScenarios({
  kind: 'sqlite',
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
