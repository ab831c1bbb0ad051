import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerLeaseRun } from './lease-run.ts';

registerLeaseRun('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-lease-run-'));
  return {
    flags: ['--store', join(folder, 'leases.db')],
    end: () => rm(folder, { recursive: true, force: true }),
  };
});
