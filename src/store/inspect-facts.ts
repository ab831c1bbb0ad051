import { describeSeal, type Seal } from '../features/export/model.ts';
import { epochOf, type Fence } from '../lease/fence.ts';
import { dateOf, type Instant } from '../support/clock.ts';
import type { StoreFact } from './contract/store-report.ts';

/** The last event that raised the epoch, if the store still has it. */
export interface EpochRise {
  readonly at: number;
  /** JSON with the actor and the cause. */
  readonly detail: string;
}

/** Reports the epoch. After you restore a copy, it shows whether the epoch has risen since. */
export function epochFact(fence: number, rise: EpochRise | undefined): StoreFact {
  const epoch = String(epochOf(fence as Fence));
  if (rise === undefined) return { name: 'epoch', found: epoch };
  const { actor, cause } = JSON.parse(rise.detail) as { actor?: string; cause?: string };
  const when = dateOf(rise.at as Instant).toISOString();
  return { name: 'epoch', found: `${epoch}, raised at ${when} by ${actor}: ${cause}` };
}

// The two functions below describe a store to a caller that inspects it without opening it.

/** `sealed` is the column of that name. A store that is open adds no fact. */
export function sealFacts(sealed: unknown): readonly StoreFact[] {
  if (typeof sealed !== 'string') return [];
  const change = describeSeal(JSON.parse(sealed) as Seal);
  return [{ name: 'seal', found: 'the store is sealed', change }];
}
