import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerRecorded } from './recorded.ts';

registerRecorded(
  'SQLite',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-recorded-'));
    return {
      address: { kind: 'sqlite', file: join(folder, 'store.db') },
      faults: [],
      stop: () => rm(folder, { recursive: true, force: true }),
    };
  },
  { lateMs: 100 },
);
