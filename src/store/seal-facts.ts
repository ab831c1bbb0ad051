// What is said of a seal by whoever looks at a store without opening it.

import { describeSeal, type Seal } from '../features/export/model.ts';
import type { StoreFact } from './contract/store-report.ts';

/** `sealed` is the column of that name; nothing is said of a store that is open. */
export function sealFacts(sealed: unknown): readonly StoreFact[] {
  if (typeof sealed !== 'string') return [];
  const change = describeSeal(JSON.parse(sealed) as Seal);
  return [{ name: 'seal', found: 'the store is sealed', change }];
}
