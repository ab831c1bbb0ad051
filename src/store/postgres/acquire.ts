import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireAnswer } from '../../lease/port.ts';
import { AssertionFault } from '../../support/assert.ts';
import { explainAcquire } from '../sql/leases/acquire.ts';
import { reclaim, recordEnds } from '../sql/leases/sweep.ts';
import { withdraw } from '../sql/leases/terms.ts';
import { adoptServer } from './adopt-server.ts';
import type { Database } from './database.ts';
import { plainGatewayOf } from './gateway.ts';
import { grantLease } from './grant-lease.ts';

/** Each round either answers or follows a change that another call made; this many in a row is a bug. */
const ROUNDS_MAX = 64;

export async function acquire(
  database: Database,
  policy: LeasePolicy,
  request: Acquire,
): Promise<AcquireAnswer> {
  // By themselves: a place in line must be seen by others before it is looked at who was granted meanwhile.
  const { read: once, write } = plainGatewayOf(database);
  // Nobody in line up to here counts: they are dead, or kept out by their losses (A-7, G-4). They
  // keep their places, for they may count again.
  let lineSeen = 0;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const granted = await grantLease(database, policy, { request, lineSeen });
    if (granted !== undefined) {
      // A copy of this request may have taken its place in line too late for the grant to see it.
      // The grant stands whether or not that can be tidied up now.
      if (request.wait === true) await once(() => withdraw(request)).catch(() => undefined);
      return granted;
    }
    const explained = await once(() => explainAcquire(request, policy));
    if (explained.kind === 'answered') return explained.answer;
    if (explained.kind === 'again') continue;
    await adoptServer(database, policy);
    if (explained.kind === 'reclaim') await write(() => reclaim(explained.sessions, policy));
    else {
      lineSeen = explained.lineEnd;
      await write(() => recordEnds([request.key], policy));
    }
  }
  throw new AssertionFault(
    `A-1: acquire of "${request.key}" found the key free ${ROUNDS_MAX} times in vain`,
  );
}
