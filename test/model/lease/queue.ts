// The queue of a lease key.

import { dampedForMs } from '../../../src/lease/flap.ts';
import type { LeaseKey } from '../../../src/lease/names.ts';
import { keepsPlace } from '../../../src/lease/session.ts';
import type { Instant } from '../../../src/support/clock.ts';
import { flapKey, type ModelState, type Ticket } from './state.ts';

/** its session sent a heartbeat within its ttl, and it has asked recently. */
export function waits(state: ModelState, ticket: Ticket, now: Instant): boolean {
  return keepsPlace(state.chain(ticket.session), now) && ticket.expiresAt > now;
}

/** G-4: an owner that is kept from the key for its losses does not block others. */
export function isDamped(
  state: ModelState,
  key: LeaseKey,
  standing: { readonly ticket: Ticket; readonly now: Instant },
): boolean {
  const owner = state.sessions.get(standing.ticket.session)?.owner;
  const until = owner === undefined ? undefined : state.flaps.get(flapKey(key, owner));
  return dampedForMs(until, state.policy, standing.now) > 0;
}
