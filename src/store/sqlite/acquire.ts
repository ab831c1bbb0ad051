import {
  type AcquireView,
  answerGrant,
  decideAcquire,
  flapAfterGrant,
} from '../../lease/decide/acquire.ts';
import { endedLease } from '../../lease/decide/term.ts';
import { toFence } from '../../lease/fence.ts';
import { type LeaseRecord, termEnd } from '../../lease/lease.ts';
import type { LeaseKey, Owner } from '../../lease/names.ts';
import type { Acquire, AcquireAnswer } from '../../lease/port.ts';
import type { EntryRefusal } from '../../lease/refusal.ts';
import { AssertionFault, assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { grantLease } from './grant-lease.ts';
import { countAhead, loadChain, loadLease, loadLeaseWithBytes, loadMeta } from './load-view.ts';
import { reclaim } from './reclaim.ts';
import { appendEnded, recordEnd } from './sweep.ts';
import type { Transaction } from './transaction.ts';
import { withdraw } from './withdraw.ts';

const ENQUEUE = `
  insert into ticket (key, attempt_id, session_id, expires_at)
  values (:key, :attempt, :session, :expiresAt)
  on conflict (key, attempt_id) do update
     set expires_at = excluded.expires_at`;

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

/** Grant at once; expire who is overdue, then write down how it ended, then grant. */
const ROUNDS_MAX = 3;

/** one transaction that answers with everything. */
export function acquire(tx: Transaction, request: Acquire): AcquireAnswer {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const lease = grantLease(tx, request);
    if (lease !== undefined) return granted(tx, request, lease);
    const answer = explain(tx, request);
    if (answer !== undefined) return answer;
  }
  throw new AssertionFault(`A-1: "${request.key}" may be granted and its statement did not`);
}

/** Why the statement granted nothing; undefined when what stood in its way was just removed. */
function explain(tx: Transaction, request: Acquire): AcquireAnswer | undefined {
  const { now } = tx;
  const view = loadView(tx, request);
  const decision = decideAcquire(view, request, now);
  switch (decision.kind) {
    case 'refuse-session':
      return { kind: 'refused', ...decision.refusal };
    case 'replay': {
      const lease = loadLeaseWithBytes(tx, request.key) ?? decision.lease;
      return { kind: 'granted', replayed: true, ...answerGrant(lease, view.own, now) };
    }
    case 'refuse':
      return decision.mayWait && request.wait === true
        ? enqueue(tx, request, decision.refusal)
        : { kind: 'refused', ...decision.refusal };
    case 'reclaim':
      reclaim(tx, decision.sessions);
      return undefined;
    case 'grant':
      recordImpliedEnd(tx, view);
      return undefined;
  }
}

/** E-3: the end of a term that followed from its session or a deadline gets its one event. */
function recordImpliedEnd(tx: Transaction, view: AcquireView): void {
  const { lease } = view;
  const end = lease === undefined ? undefined : termEnd(lease, view.holder, tx.now);
  assert(
    lease !== undefined && lease.end === undefined && end !== undefined,
    'A-1: only an end that is not written down yet may keep a free key from being granted',
  );
  const ended = endedLease(lease, end, tx.policy);
  recordEnd(tx, ended);
  appendEnded(tx, ended, end);
}

function granted(tx: Transaction, request: Acquire, lease: LeaseRecord): AcquireAnswer {
  const { key } = request;
  const { predecessor } = lease;
  if (predecessor.owner !== undefined && predecessor.exit === 'expired') {
    const { owner } = predecessor;
    const { policy, now } = tx;
    const until = flapAfterGrant(predecessor, loadFlap(tx, key, owner), { policy, now });
    if (until !== undefined) tx.run(CHARGE_FLAP, { key, owner, until });
  }
  withdraw(tx, request);
  const { fence, rev, session, owner } = lease;
  tx.append({ kind: 'acquired', at: tx.now, key, fence, rev, session, owner });
  const own = loadChain(tx, request.session);
  return { kind: 'granted', replayed: false, ...answerGrant(lease, own, tx.now) };
}

function enqueue(tx: Transaction, request: Acquire, refusal: EntryRefusal): AcquireAnswer {
  const { key, attempt, session } = request;
  const expiresAt = tx.now + tx.policy.ticketMs;
  tx.run(ENQUEUE, { key, attempt, session, expiresAt });
  return { kind: 'queued', ahead: countAhead(tx, key, attempt), refusal };
}

function loadView(tx: Transaction, request: Acquire): AcquireView {
  const own = loadChain(tx, request.session);
  const lease = loadLease(tx, request.key);
  const owner = own.at(-1)?.owner;
  const { halted } = loadMeta(tx);
  return {
    own,
    lease,
    holder: loadChain(tx, lease?.session),
    ahead: countAhead(tx, request.key, request.attempt),
    flapUntil: owner === undefined ? undefined : loadFlap(tx, request.key, owner),
    halted: halted === null ? undefined : toFence(halted),
    policy: tx.policy,
  };
}

function loadFlap(tx: Transaction, key: LeaseKey, owner: Owner): Instant | undefined {
  return tx.get<{ until: Instant }>(LOAD_FLAP, { key, owner })?.until;
}
