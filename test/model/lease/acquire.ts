import {
  type AcquireView,
  decideAcquire,
  flapAfterGrant,
  grantResult,
  leaseAfterGrant,
} from '../../../src/lease/decide/acquire.ts';
import { endedLease } from '../../../src/lease/decide/term.ts';
import { type LeaseRecord, termEnd } from '../../../src/lease/lease.ts';
import type { Acquire, AcquireResult } from '../../../src/lease/port.ts';
import type { EntryRefusal } from '../../../src/lease/refusal.ts';
import { type Instant, laterBy } from '../../../src/support/clock.ts';
import { isDamped, waits } from './queue.ts';
import { reclaim } from './reclaim.ts';
import { flapKey, type ModelState } from './state.ts';
import { appendEnded } from './sweep.ts';
import { withdraw } from './withdraw.ts';

export function acquire(state: ModelState, request: Acquire): AcquireResult {
  const now = state.now();
  const view = viewOf(state, request, now);
  const decision = decideAcquire(view, request, now);
  switch (decision.kind) {
    case 'refuse-session':
      return { kind: 'refused', ...decision.refusal };
    case 'replay':
      return granted(decision.lease, { view, now, replayed: true });
    case 'grant':
      return grant(state, request, { view, now });
    case 'refuse':
      return decision.mayWait && request.wait === true
        ? enqueue(state, request, { refusal: decision.refusal, now })
        : { kind: 'refused', ...decision.refusal };
    case 'reclaim':
      // Expired or held back, the overdue sessions are no longer overdue: this ends.
      reclaim(state, decision.sessions);
      return acquire(state, request);
  }
}

function grant(
  state: ModelState,
  request: Acquire,
  context: { readonly view: AcquireView; readonly now: Instant },
): AcquireResult {
  const { now } = context;
  const view = withEndRecorded(state, context.view, now);
  const lease = leaseAfterGrant(view, request, { fence: state.mintFence(), now });
  const { owner, exit } = lease.predecessor;
  if (owner !== undefined && exit === 'expired') {
    const flap = flapKey(request.key, owner);
    const until = flapAfterGrant(lease.predecessor, state.flaps.get(flap), {
      policy: state.policy,
      now,
    });
    if (until !== undefined) state.flaps.set(flap, until);
  }
  state.leases.set(request.key, lease);
  withdraw(state, request);
  state.append({
    kind: 'acquired',
    at: now,
    key: lease.key,
    fence: lease.fence,
    rev: lease.rev,
    session: lease.session,
    owner: lease.owner,
  });
  return granted(lease, { view, now, replayed: false });
}

/** E-3: an unrecorded end gets its event now, as a sweep would have written it. */
function withEndRecorded(state: ModelState, view: AcquireView, now: Instant): AcquireView {
  const before = view.lease;
  if (before === undefined || before.end !== undefined) return view;
  const end = termEnd(before, view.holder, now);
  if (end === undefined) return view;
  const lease = endedLease(before, end, state.policy);
  appendEnded(state, lease, { end, at: now });
  return { ...view, lease };
}

/** K-3: a copy, so that the caller cannot change the stored bytes. */
function granted(
  lease: LeaseRecord,
  context: { readonly view: AcquireView; readonly now: Instant; readonly replayed: boolean },
): AcquireResult {
  const { view, now, replayed } = context;
  return structuredClone({ kind: 'granted', replayed, ...grantResult(lease, view.own, now) });
}

function enqueue(
  state: ModelState,
  request: Acquire,
  context: { readonly refusal: EntryRefusal; readonly now: Instant },
): AcquireResult {
  const tickets = state.tickets.get(request.key) ?? [];
  const { attempt, session } = request;
  const expiresAt = laterBy(context.now, state.policy.ticketMs);
  const place = tickets.findIndex((each) => each.attempt === attempt);
  const taken = tickets[place];
  // The place belongs to its session: another session with the same attempt does not get it.
  if (taken === undefined) tickets.push({ attempt, session, expiresAt });
  else if (!state.keepsTickets || taken.expiresAt < context.now + state.policy.ticketMs / 2)
    tickets[place] = { ...taken, expiresAt };
  state.tickets.set(request.key, tickets);
  const ahead = countAhead(state, request, context.now);
  return { kind: 'queued', ahead, refusal: context.refusal };
}

function viewOf(state: ModelState, request: Acquire, now: Instant): AcquireView {
  const own = state.chain(request.session);
  const lease = state.leases.get(request.key);
  const owner = own.at(-1)?.owner;
  return {
    own,
    lease,
    holder: state.chain(lease?.session),
    ahead: countAhead(state, request, now),
    flapUntil: owner === undefined ? undefined : state.flaps.get(flapKey(request.key, owner)),
    halted: state.halted,
    policy: state.policy,
  };
}

/** Tickets of the living before this attempt's own; all of them when it has none. */
function countAhead(state: ModelState, request: Acquire, now: Instant): number {
  const tickets = state.tickets.get(request.key) ?? [];
  const own = tickets.findIndex((ticket) => ticket.attempt === request.attempt);
  return tickets
    .slice(0, own === -1 ? tickets.length : own)
    .filter((ticket) => waits(state, ticket, now))
    .filter((ticket) => !isDamped(state, request.key, { ticket, now })).length;
}
