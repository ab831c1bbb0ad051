import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { registerEveryCommit } from './every-commit.ts';

registerEveryCommit({
  kind: 'sqlite',
  place: async (folder) => join(folder, 'hf.db'),
  open: (file) => openSqliteStore({ file }),
});
