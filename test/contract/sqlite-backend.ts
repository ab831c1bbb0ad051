import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { type ContractBackend, ManualClock } from '../../src/testing/index.ts';
import { durableHarness } from './durable-harness.ts';

/** One file per case; all its clients share one clock. */
export const sqliteBackend: ContractBackend = {
  offers: ['durable', 'two-clients', 'host-clock'],
  async open(policy) {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-contract-'));
    const clock = new ManualClock();
    return durableHarness({
      openClient: () => openSqliteStore({ file: join(folder, 'store.db'), clock, policy }),
      advance: async (ms) => clock.jumpWall(ms),
      now: () => toInstant(clock.wallMs()),
      dispose: () => rm(folder, { recursive: true, force: true }),
    });
  },
};
