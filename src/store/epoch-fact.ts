import { epochOf, type Fence } from '../lease/fence.ts';
import { dateOf, type Instant } from '../support/clock.ts';
import type { StoreFact } from './contract/store-report.ts';

/** The last event that raised it, if it is kept. */
export interface EpochRise {
  readonly at: number;
  /** JSON of who did it, and why. */
  readonly detail: string;
}

/** For who has restored a copy: whether the epoch rose since. */
export function epochFact(fence: number, rise: EpochRise | undefined): StoreFact {
  const epoch = String(epochOf(fence as Fence));
  if (rise === undefined) return { name: 'epoch', found: epoch };
  const { actor, cause } = JSON.parse(rise.detail) as { actor?: string; cause?: string };
  const when = dateOf(rise.at as Instant).toISOString();
  return { name: 'epoch', found: `${epoch}, raised at ${when} by ${actor}: ${cause}` };
}
