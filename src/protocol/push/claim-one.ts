// One claim on behalf of an endpoint, from the first lane that has any.

import type { Claim, Claimed } from '../../store/contract/execution-store.ts';
import { noteIssued } from '../rest/issued-fences.ts';
import type { Coordinator } from '../rest/route.ts';
import { claimFor } from '../rest/work-claim.ts';

export async function claimOne(
  coordinator: Coordinator,
  request: Omit<Claim, 'shares'>,
): Promise<Claimed | undefined> {
  for (const lane of ['interactive', 'batch'] as const) {
    const answer = await claimFor(coordinator, { ...request, shares: [{ lane, limit: 1 }] });
    const [claimed] = answer.kind === 'claimed' ? answer.claims : [];
    if (claimed === undefined) continue;
    noteIssued(coordinator.store, claimed.fence);
    return claimed;
  }
  return undefined;
}
