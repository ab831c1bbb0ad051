// A store that is shown a fence which it never issued halts all grants: it may be an older copy of itself. A
// key of one project must not be able to bring that about for all, so what comes over the wire is looked at
// first. What is up to the highest fence seen here was issued; above it, the row of its execution says, to who may
// read that: of an execution of another project the answer is that of one which is not there.

import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';

const highest: WeakMap<CoordinatorStore, number> = new WeakMap();

export function noteIssued(store: CoordinatorStore, fence: number): void {
  if (fence > (highest.get(store) ?? 0)) highest.set(store, fence);
}

export async function isIssued(
  store: CoordinatorStore,
  {
    id,
    fence,
    project,
  }: { readonly id: ExecutionId; readonly fence: number; readonly project: ProjectName },
): Promise<boolean> {
  if (fence <= (highest.get(store) ?? 0)) return true;
  const record = await store.executions.read(id);
  if (record?.project === project) noteIssued(store, record.fence ?? 0);
  return fence <= (highest.get(store) ?? 0);
}
