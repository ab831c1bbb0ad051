import { ownDeadline, termEnd } from '../../../src/lease/lease.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import type { CarriedLease } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function listCarried(state: ModelState, id: SessionId): readonly CarriedLease[] {
  const now = state.now();
  const holder = state.chain(id);
  const carried: CarriedLease[] = [];
  for (const lease of state.leases.values()) {
    if (lease.session !== id || termEnd(lease, holder, now) !== undefined) continue;
    const deadline = ownDeadline(lease);
    carried.push({
      key: lease.key,
      fence: lease.fence,
      ...(lease.drain === undefined ? {} : { drain: lease.drain }),
      ...(deadline === undefined ? {} : { deadlineInMs: deadline - now }),
    });
  }
  return carried.sort((a, b) => (a.key < b.key ? -1 : 1));
}
