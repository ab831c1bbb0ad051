import { flapAfterGrant, grantResult } from '../../lease/decide/acquire.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import type { Acquire, AcquireResult } from '../../lease/port.ts';
import { AssertionFault } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { explainAcquire } from '../sql/leases/acquire.ts';
import { recordEnds } from '../sql/leases/sweep.ts';
import { play } from './gateway.ts';
import { grantLease } from './grant-lease.ts';
import { loadChain } from './load-view.ts';
import { expire } from './sweep.ts';
import type { Transaction } from './transaction.ts';

const LEAVE_QUEUE = `
  delete from ticket
   where key = :key
     and attempt_id = :attempt -- guard: place
`;

const LOAD_FLAP = `
  select until
    from flap
   where key = :key
     and owner = :owner`;

const CHARGE_FLAP = `
  insert into flap (key, owner, until)
  values (:key, :owner, :until)
  on conflict (key, owner) do update
     set until = excluded.until`;

/** Three rounds are enough: expire overdue sessions, record the ends of their terms, grant. */
const ROUNDS_MAX = 3;

/** Acquires in one transaction and returns everything about the term. */
export function acquire(tx: Transaction, request: Acquire): AcquireResult {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const lease = grantLease(tx, request);
    if (lease !== undefined) return granted(tx, request, lease);
    const explained = play(tx, explainAcquire(request, tx.policy));
    if (explained.kind === 'answered') return explained.result;
    if (explained.kind === 'reclaim') expire(tx, explained.sessions);
    // Only an end that is not recorded yet can keep a free key from being granted.
    if (explained.kind === 'grant') play(tx, recordEnds([request.key], tx.policy));
  }
  throw new AssertionFault(`A-1: "${request.key}" may be granted and its statement did not`);
}

function granted(tx: Transaction, request: Acquire, lease: LeaseRecord): AcquireResult {
  const { key, attempt } = request;
  const { predecessor } = lease;
  if (predecessor.owner !== undefined && predecessor.exit === 'expired') {
    const { owner } = predecessor;
    const { policy, now } = tx;
    const until = flapAfterGrant(
      predecessor,
      tx.get<{ until: Instant }>(LOAD_FLAP, { key, owner })?.until,
      { policy, now },
    );
    if (until !== undefined) tx.run(CHARGE_FLAP, { key, owner, until });
  }
  if (tx.run(LEAVE_QUEUE, { key, attempt }) > 0) tx.hint(key);
  const { fence, rev, session, owner } = lease;
  tx.append({ kind: 'acquired', at: tx.now, key, fence, rev, session, owner });
  const own = loadChain(tx, request.session);
  return { kind: 'granted', replayed: false, ...grantResult(lease, own, tx.now) };
}
