import type { KernelStore } from '../../../src/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';

/** Whole batches are killed here on purpose: the mass-expiry breaker and flap damping stay out of it. */
export function openTrialStore(file: string): Promise<KernelStore> {
  return openSqliteStore({
    file,
    durability: 'normal',
    policy: { breakerSessionsMin: 1_000_000, flapUnitMs: 0 },
  });
}
