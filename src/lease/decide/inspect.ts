// Builds the results of inspections of leases and sessions. Pure.

import type { Instant } from '../../support/clock.ts';
import { type LeaseRecord, leaseState, ownDeadline, termEnd } from '../lease.ts';
import type { LeaseKey } from '../names.ts';
import type { CarriedLease, LeaseInspection, ListedLease, SessionInspection } from '../port.ts';
import { authorityMs, chainState, remainingMs, type SessionChain } from '../session.ts';
import { freeInMs, holderOf } from './acquire.ts';

export function leaseInspection(
  key: LeaseKey,
  seen: {
    readonly lease: LeaseRecord | undefined;
    readonly holder: SessionChain;
    readonly waiting: number;
  },
  now: Instant,
): LeaseInspection {
  const { lease, holder, waiting } = seen;
  return {
    key,
    state: leaseState(lease, holder, now),
    freeInMs: lease === undefined ? 0 : freeInMs(lease, holder, now),
    waiting,
    ...(lease === undefined ? {} : { record: lease }),
  };
}

/** Returns undefined for an unknown session. */
export function sessionInspection(
  chain: SessionChain,
  now: Instant,
): SessionInspection | undefined {
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session,
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}

export function sessionInspections(
  chains: readonly SessionChain[],
  now: Instant,
): readonly SessionInspection[] {
  return chains.map((chain) => sessionInspection(chain, now)).filter((each) => each !== undefined);
}

/** Returns the leases whose terms have not ended, by key. */
export function carriedLeases(
  leases: readonly LeaseRecord[],
  holder: SessionChain,
  now: Instant,
): readonly CarriedLease[] {
  return leases
    .filter((lease) => termEnd(lease, holder, now) === undefined)
    .map((lease) => {
      const deadline = ownDeadline(lease);
      return {
        key: lease.key,
        fence: lease.fence,
        ...(lease.drain === undefined ? {} : { drain: lease.drain }),
        ...(deadline === undefined ? {} : { deadlineInMs: deadline - now }),
      };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** One entry of a list. */
export function listedLease(lease: LeaseRecord, chain: SessionChain, now: Instant): ListedLease {
  const { since, ...holder } = holderOf(lease, chain, now);
  const end = termEnd(lease, chain, now);
  return { key: lease.key, ...holder, since, ...(end === undefined ? {} : { exit: end.exit }) };
}
