import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { registerClaimBehindSubmit } from './claim-behind-submit/cases.ts';

registerClaimBehindSubmit(async (onBoundary) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-behind-'));
  const store = await openSqliteStore({ file: join(folder, 'holdfast.db'), onBoundary });
  return { store, clear: () => rm(folder, { recursive: true }) };
});
