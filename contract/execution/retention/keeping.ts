// Builders for cases about retention.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { RemoveRequest, WhyKept } from '../../../src/features/retention/model.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { PROJECT } from '../worker.ts';

/** Keeps nothing: every ended execution is due. */
export function removing(id: ExecutionId, options: Partial<RemoveRequest> = {}): RemoveRequest {
  return { id, project: PROJECT, keepMs: 0, ...options };
}

export async function mustRemove(
  store: CoordinatorStore,
  id: ExecutionId,
  options: Partial<RemoveRequest> = {},
): Promise<void> {
  const result = await store.executions.remove(removing(id, options));
  assert.deepEqual(result, { kind: 'removed' });
  assert.equal(await store.executions.read(id), undefined);
}

export async function mustKeep(
  store: CoordinatorStore,
  id: ExecutionId,
  { why, ...options }: Partial<RemoveRequest> & { readonly why: WhyKept },
): Promise<void> {
  const before = await store.executions.read(id);
  const result = await store.executions.remove(removing(id, options));
  assert.deepEqual(result, { kind: 'kept', why });
  assert.deepEqual(await store.executions.read(id), before);
}

/** Lists the ids of removable executions, page by page. */
export async function removableIds(
  store: CoordinatorStore,
  options: { readonly limit?: number; readonly endedMs?: number } = {},
): Promise<readonly ExecutionId[]> {
  const { limit = 2, endedMs = 0 } = options;
  const found: ExecutionId[] = [];
  for (let after: ExecutionId | undefined; ; ) {
    const from = after === undefined ? {} : { after };
    const page = await store.executions.removable({ limit, endedMs, ...from });
    found.push(...page.items.map(({ id }) => id));
    after = page.next;
    if (after === undefined) return found;
  }
}

export const ARCHIVED = {
  place: 'default/2026/x',
  digest: 'a'.repeat(64),
  seen: { late: 0 },
} as const;
