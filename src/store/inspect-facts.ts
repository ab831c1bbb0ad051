import { describeSeal, type Seal } from '../features/export/model.ts';
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

// What is said of a seal by whoever looks at a store without opening it.

/** `sealed` is the column of that name; nothing is said of a store that is open. */
export function sealFacts(sealed: unknown): readonly StoreFact[] {
  if (typeof sealed !== 'string') return [];
  const change = describeSeal(JSON.parse(sealed) as Seal);
  return [{ name: 'seal', found: 'the store is sealed', change }];
}
