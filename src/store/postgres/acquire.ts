import { type AcquireDecision, answerGrant, decideAcquire } from '../../lease/decide/acquire.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireAnswer } from '../../lease/port.ts';
import type { EntryRefusal } from '../../lease/refusal.ts';
import { adoptServer } from './adopt-server.ts';
import { type Database, statement } from './database.ts';
import { grantLease } from './grant-lease.ts';
import { type EntryView, loadEntry } from './load-view.ts';
import { waiterDamped, waiterLives } from './predicates.ts';
import { reclaim } from './reclaim.ts';
import { recordEnd } from './record-end.ts';

// Asking again keeps the place; it is written only when half of its time is gone.
const TAKE_TICKET = statement(`
  insert into hf.ticket as t (key, attempt_id, session_id, expires_at)
  values ($1, $2, $3, hf_now() + $4)
      on conflict (key, attempt_id) do update
     set expires_at = excluded.expires_at
   where t.expires_at < hf_now() + $4 / 2`);

// Tickets that do not count make the statement that grants say no, so they go. A waiter that is kept
// out by its losses is told so when it asks again.
const CLEAR_LINE = statement(`
  delete from hf.ticket t
   where t.key = $1
     and (not (${waiterLives('t')}) or ${waiterDamped('t')})`);

/** Each round either answers or follows a change that somebody made; this many in a row is a bug. */
const ROUNDS_MAX = 64;

export async function acquire(
  database: Database,
  policy: LeasePolicy,
  request: Acquire,
): Promise<AcquireAnswer> {
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const granted = await grantLease(database, policy, request);
    if (granted !== undefined) return granted;
    const view = await loadEntry(database, request);
    const decision = decideAcquire({ ...view, policy }, request, view.now);
    const answer = await answerOrPrepare(database, policy, { request, view, decision });
    if (answer !== undefined) return answer;
  }
  throw new Error(`acquire of "${request.key}" found the key free ${ROUNDS_MAX} times in vain`);
}

interface Explained {
  readonly request: Acquire;
  readonly view: EntryView;
  readonly decision: AcquireDecision;
}

/** The answer, or nothing when the way was cleared and the statement should be tried again. */
async function answerOrPrepare(
  database: Database,
  policy: LeasePolicy,
  explained: Explained,
): Promise<AcquireAnswer | undefined> {
  const { request, view, decision } = explained;
  switch (decision.kind) {
    case 'refuse-session':
      return { kind: 'refused', ...decision.refusal };
    case 'replay': {
      const grant = answerGrant(decision.lease, view.own, view.now);
      return { kind: 'granted', replayed: true, ...grant };
    }
    case 'refuse':
      return decision.mayWait && request.wait === true
        ? enqueue(database, request, { policy, refusal: decision.refusal })
        : { kind: 'refused', ...decision.refusal };
    case 'reclaim':
      await adoptServer(database, policy);
      await reclaim(database, policy, decision.sessions);
      return undefined;
    case 'grant':
      await adoptServer(database, policy);
      await recordEnd(database, policy, request.key);
      await database.rows(CLEAR_LINE, [request.key]);
      return undefined;
  }
}

async function enqueue(
  database: Database,
  request: Acquire,
  context: { readonly policy: LeasePolicy; readonly refusal: EntryRefusal },
): Promise<AcquireAnswer> {
  const { policy, refusal } = context;
  const { key, attempt, session } = request;
  await database.rows(TAKE_TICKET, [key, attempt, session, policy.ticketMs]);
  const { ahead } = await loadEntry(database, request);
  return { kind: 'queued', ahead, refusal };
}
