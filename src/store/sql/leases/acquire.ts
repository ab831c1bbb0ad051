// The part of acquire around the granting statement, which each store writes itself. This part
// explains why the statement granted nothing, and removes the obstacle.

import { type AcquireDecision, decideAcquire, grantResult } from '../../../lease/decide/acquire.ts';
import type { LeasePolicy } from '../../../lease/policy.ts';
import type { Acquire, AcquireResult } from '../../../lease/port.ts';
import type { EntryRefusal } from '../../../lease/refusal.ts';
import { all, type Script, sql } from '../script.ts';
import { withdraw } from './terms.ts';
import { type EntryView, loadEntry, loadFullTerm } from './views.ts';

/** The reason why the statement granted nothing. */
export type Explained =
  | { readonly kind: 'answered'; readonly result: AcquireResult }
  /** Overdue sessions are in the way. Expire them first. */
  | Extract<AcquireDecision, { readonly kind: 'reclaim' }>
  /**
   * The key may be granted now: a term's end was not recorded yet, or the waiters up to ticket
   * `queueEnd` do not count.
   */
  | { readonly kind: 'grant'; readonly queueEnd: number }
  | { readonly kind: 'again' };

export function* explainAcquire(request: Acquire, policy: LeasePolicy): Script<Explained> {
  const view = yield* loadEntry(request, policy);
  const decision = decideAcquire(view, request, view.now);
  switch (decision.kind) {
    case 'refuse-session':
      return answered({ kind: 'refused', ...decision.refusal });
    case 'replay':
      return yield* replay(request, view);
    case 'refuse':
      return decision.mayWait && request.wait === true
        ? yield* enqueue(request, policy, decision.refusal)
        : answered({ kind: 'refused', ...decision.refusal });
    case 'reclaim':
      return decision;
    case 'grant':
      return { kind: 'grant', queueEnd: view.queueEnd };
  }
}

function answered(result: AcquireResult): Explained {
  return { kind: 'answered', result };
}

/**
 * Returns the term with the bytes of its checkpoint, unless another term replaced it in between.
 */
function* replay(request: Acquire, { own, now }: EntryView): Script<Explained> {
  const { lease } = yield* loadFullTerm(request.key);
  return lease?.attempt === request.attempt
    ? answered({ kind: 'granted', replayed: true, ...grantResult(lease, own, now) })
    : { kind: 'again' };
}

// Asking again keeps the ticket. The store rewrites it only after half of its time.
const TAKE_TICKET = sql(`
  insert into hf.ticket as t (key, attempt_id, session_id, expires_at)
  values (:key, :attempt, :session, hf_now() + :ticketMs::bigint)
      on conflict (key, attempt_id) do update
     set expires_at = excluded.expires_at
   where t.expires_at < hf_now() + :ticketMs::bigint / 2`);

function* enqueue(request: Acquire, policy: LeasePolicy, refusal: EntryRefusal): Script<Explained> {
  const { key, attempt, session } = request;
  yield* all(TAKE_TICKET, { key, attempt, session, ticketMs: policy.ticketMs });
  const { ahead, lease } = yield* loadEntry(request, policy);
  const isGranted = lease?.attempt === attempt && lease.session === session;
  if (!isGranted) return answered({ kind: 'queued', ahead, refusal });
  // A copy of this request was granted meanwhile. No caller would use the ticket, so drop it.
  yield* withdraw(request);
  return { kind: 'again' };
}
