// Z-3: whatever a case did with verbs, no invariant is broken.

import assert from 'node:assert/strict';
import { type Finding, type InvariantName, PARTS } from '../../src/features/reconcile/model.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

/** Small, so that there are several pages. */
const PAGE = 3;

/** What nobody does where time is moved, a limit raised, or no time left. */
const LEFT_UNDONE: readonly InvariantName[] = [
  'left-by-the-dead',
  'overdue-not-swept',
  'place-not-given',
  'schedule-without-time',
];

/** `except`: what else is not expected to be as it must be. */
export async function checkInvariants(
  store: CoordinatorStore,
  except: readonly InvariantName[] = [],
): Promise<void> {
  const found = await allFindings(store, { dryRun: true });
  const leftUndone = new Set<InvariantName>([...LEFT_UNDONE, ...except]);
  const broken = found.filter(({ invariant }) => !leftUndone.has(invariant));
  assert.deepEqual(broken, [], 'Z-3: what verbs have written is as it can be');
}

/** Of all parts, a page at a time. */
export async function allFindings(
  store: CoordinatorStore,
  { dryRun = false, limit = PAGE }: { readonly dryRun?: boolean; readonly limit?: number } = {},
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const part of PARTS) {
    for (let after: string | undefined; ; ) {
      const from = after === undefined ? {} : { after };
      const page = await store.executions.reconcile({ part, limit, dryRun, ...from });
      found.push(...page.found);
      assert.notEqual(page.next, after ?? '', 'Z-2: a page goes on');
      after = page.next;
      if (after === undefined) break;
    }
  }
  return found;
}
