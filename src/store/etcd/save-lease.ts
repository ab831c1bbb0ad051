// How a lease is written: its own keys, and those by which it is found.

import { type LeaseRecord, ownDeadline, type TermEnd } from '../../lease/lease.ts';
import type { Instant } from '../../support/clock.ts';
import { type Epoch, fromLease, fromTerm } from './records.ts';
import type { Transaction } from './transaction.ts';

/** A change within a term. */
export function saveLease(tx: Transaction, before: LeaseRecord, after: LeaseRecord): void {
  const { keys } = tx;
  tx.put(keys.lease(after.key), fromLease(after));
  moveDeadline(tx, before, after);
  const { end } = after;
  if (end === undefined || before.end !== undefined) return;
  tx.delete(keys.carried(after.session, after.key));
  if (end.exit === 'retired') tx.put(keys.retired(end.at, after.key), '');
}

/** A new term. `before` is the record that it replaces, with its end, if there was one. */
export function saveGrant(
  tx: Transaction,
  grant: {
    readonly before: LeaseRecord | undefined;
    readonly after: LeaseRecord;
    readonly epoch: Epoch;
  },
): void {
  const { before, after, epoch } = grant;
  const { keys } = tx;
  if (before !== undefined) {
    tx.delete(keys.carried(before.session, before.key));
    if (before.end?.exit === 'retired') tx.delete(keys.retired(before.end.at, before.key));
  }
  tx.put(keys.term(after.key), fromTerm(after, epoch));
  tx.put(keys.lease(after.key), fromLease(after));
  tx.put(keys.carried(after.session, after.key), '');
  moveDeadline(tx, before, after);
}

/** E-3: the one event of this end. */
export function appendEnded(
  tx: Transaction,
  lease: LeaseRecord,
  ended: { readonly end: TermEnd; readonly at: Instant },
): void {
  const { end, at } = ended;
  tx.append({
    kind: 'ended',
    at,
    key: lease.key,
    fence: lease.fence,
    rev: lease.rev,
    session: lease.session,
    owner: lease.owner,
    exit: end.exit,
    ...(end.cause === undefined ? {} : { cause: end.cause }),
    ...(end.actor === undefined ? {} : { actor: end.actor }),
  });
}

function moveDeadline(tx: Transaction, before: LeaseRecord | undefined, after: LeaseRecord): void {
  const { keys } = tx;
  const old = before === undefined ? undefined : deadlineOf(before);
  const now = deadlineOf(after);
  if (old === now) return;
  if (old !== undefined) tx.delete(keys.deadline(old, after.key));
  if (now !== undefined) tx.put(keys.deadline(now, after.key), '');
}

function deadlineOf(lease: LeaseRecord): Instant | undefined {
  return lease.end === undefined ? ownDeadline(lease) : undefined;
}
