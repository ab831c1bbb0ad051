import type { KernelStore } from '../../../src/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';

/**
 * This test kills whole batches on purpose, so it turns the mass-expiry breaker and flap damping
 * off.
 */
export function openTrialStore(file: string): Promise<KernelStore> {
  return openSqliteStore({
    file,
    durability: 'normal',
    policy: { breakerSessionsMin: 1_000_000, flapUnitMs: 0 },
  });
}
