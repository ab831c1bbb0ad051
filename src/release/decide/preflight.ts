// What stays with a release of what its preflights found (RE-10). Pure.

import type { ExecutionId } from '../../execution/names.ts';
import { BROKEN_MAX, type Preflight } from '../release.ts';

type Found = Omit<Preflight, 'at'>;

/**
 * A look at some is no word about the others: what was found before to break stays, as long as it is among `unseen`,
 * those that are open and were not looked at. Of those that were only counted any may be among them.
 */
export function keptPreflight(
  before: Found | undefined,
  found: Found,
  unseen: readonly ExecutionId[],
): Found {
  if (before === undefined || before.brokenCount === 0 || unseen.length === 0) return found;
  const isUnseen = new Set(unseen);
  const again = before.broken.filter(({ execution }) => isUnseen.has(execution));
  const counted = before.brokenCount - before.broken.length;
  const kept = Math.min(again.length + counted, unseen.length);
  return {
    ...found,
    looked: found.looked + kept,
    broken: [...found.broken, ...again].slice(0, BROKEN_MAX),
    brokenCount: found.brokenCount + kept,
  };
}
