import { type ContractBackend, ManualClock } from '../../contract/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { durableHarness } from './durable-harness.ts';

/** One file per case; all its clients share one clock. */
export const sqliteBackend: ContractBackend = {
  offers: ['durable', 'two-clients', 'host-clock', 'projects'],
  async open(policy) {
    const clock = new ManualClock();
    const { file, remove } = await freshSqliteFile(clock);
    return durableHarness({
      openClient: () => openSqliteStore({ file, clock, policy }),
      advance: async (ms) => clock.jumpWall(ms),
      now: () => toInstant(clock.wallMs()),
      dispose: remove,
    });
  },
};
