import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireResult } from '../../lease/port.ts';
import { AssertionFault } from '../../support/assert.ts';
import { explainAcquire } from '../sql/leases/acquire.ts';
import { reclaim, recordEnds } from '../sql/leases/sweep.ts';
import { withdraw } from '../sql/leases/terms.ts';
import { adoptServer } from './adopt-server.ts';
import type { Database } from './database.ts';
import { plainGatewayOf } from './gateway.ts';
import { grantLease } from './grant-lease.ts';

/** Each round returns or follows a change that another call made. This many in a row is a bug. */
const ROUNDS_MAX = 64;

export async function acquire(
  database: Database,
  policy: LeasePolicy,
  request: Acquire,
): Promise<AcquireResult> {
  // Each script runs outside a transaction: others must see a new ticket before this call checks
  // who was granted the key meanwhile.
  const { read: once, write } = plainGatewayOf(database);
  // Waiters up to this ticket do not count: they are dead, or flap damping keeps them out (A-7,
  // G-4). They keep their tickets, because they may count again.
  let queueSeen = 0;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const granted = await grantLease(database, policy, { request, queueSeen });
    if (granted !== undefined) {
      // A copy of this request may have taken a ticket too late for the grant to see it. The grant
      // stands even if removing that ticket fails.
      if (request.wait === true) await once(() => withdraw(request)).catch(() => undefined);
      return granted;
    }
    const explained = await once(() => explainAcquire(request, policy));
    if (explained.kind === 'answered') return explained.result;
    if (explained.kind === 'again') continue;
    await adoptServer(database, policy);
    if (explained.kind === 'reclaim') await write(() => reclaim(explained.sessions, policy));
    else {
      queueSeen = explained.queueEnd;
      await write(() => recordEnds([request.key], policy));
    }
  }
  throw new AssertionFault(
    `A-1: acquire of "${request.key}" found the key free ${ROUNDS_MAX} times in vain`,
  );
}
