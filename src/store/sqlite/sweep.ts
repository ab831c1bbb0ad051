import { endedLease } from '../../lease/decide/term.ts';
import type { LeaseRecord, TermEnd } from '../../lease/lease.ts';
import { termEnd } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import { type LeaseRow, toLease } from '../lease-rows.ts';
import { CARRIERS, deleteOld } from './delete-old.ts';
import { LEASE_HEAD, loadChain } from './load-view.ts';
import { reclaim } from './reclaim.ts';
import type { Transaction } from './transaction.ts';

const LIST_OVERDUE = `
  select id
    from session
   where ended_at is null
     and expires_at <= :now
   order by expires_at, id
   limit :limit + 1`;

// Terms that ended without a word in their own row: a deadline passed, or their session or one
// above it ended. Each part has its index; terms that go on are not looked at one by one.
const LIST_IMPLIED = `
  with recursive ${CARRIERS},
  implied (key) as (
    select key from lease indexed by lease_drain where ended_at is null and drain_deadline_at <= :now
    union all
    select key from lease indexed by lease_tenure where ended_at is null and hard_deadline_at <= :now
    union all
    select lease.key
      from carrier
      join lease on lease.session_id = carrier.id and lease.ended_at is null
     where carrier.id is not null
       and not exists (
             select 1
               from session as holder
              where holder.id = carrier.id
                and not exists (
                      select 1
                        from json_each(holder.path) as step
                        join session as member on member.id = step.value
                       where member.ended_at is not null)))
  select ${LEASE_HEAD}
    from lease
   where key in (select key from implied)
   order by rowid
   limit :limit`;

const RECORD_END = `
  update lease
     set rev = :rev,
         ended_at = :endedAt,
         exit = :exit,
         cause = :cause,
         actor = :actor,
         reserved_for = :reservedFor,
         reserved_until = :reservedUntil
   where key = :key and fence = :fence and ended_at is null`;

// a session that was given more time keeps its place, for it may count again.
const DROP_DEAD_TICKETS = `
  delete from ticket
   where expires_at <= :now
      or not exists (
           select 1
             from session as waiter
            where waiter.id = ticket.session_id
              and not exists (
                    select 1
                      from json_each(waiter.path) as step
                      join session as member on member.id = step.value
                     where member.ended_at is not null))`;

export function sweep(tx: Transaction, request: Sweep): Swept {
  const { now } = tx;
  const { limit } = request;
  const overdue = tx.all<{ id: SessionId }>(LIST_OVERDUE, { now, limit });
  const candidates = overdue.slice(0, limit).map(({ id }) => id);
  const { expired, paused } = reclaim(tx, candidates);
  const implied = recordImpliedEnds(tx, limit);
  tx.run(DROP_DEAD_TICKETS, { now });
  const deleted = deleteOld(tx, limit);
  const more = overdue.length > limit || implied.length >= limit;
  return {
    expired,
    ended: implied.map(({ key, fence }) => ({ key, fence })),
    deleted,
    paused,
    more,
  };
}

/** Ends that follow from a session or a deadline are written into the lease's own row. */
function recordImpliedEnds(tx: Transaction, limit: number): readonly LeaseRecord[] {
  const rows = tx.all<LeaseRow>(LIST_IMPLIED, { now: tx.now, limit });
  return rows.map((row) => {
    const lease = toLease(row);
    const end = termEnd(lease, loadChain(tx, lease.session), tx.now);
    assert(end !== undefined, `E-1: the term of "${lease.key}" was listed as ended and goes on`);
    const ended = endedLease(lease, end, tx.policy);
    recordEnd(tx, ended);
    appendEnded(tx, ended, end);
    tx.hint(ended.key);
    return ended;
  });
}

/** Writes the end of a term that is known to have ended into its row. */
export function recordEnd(tx: Transaction, lease: LeaseRecord): void {
  const { key, fence, rev, end, reservation } = lease;
  const changes = tx.run(RECORD_END, {
    key,
    fence,
    rev,
    endedAt: end?.at ?? tx.now,
    exit: end?.exit ?? 'expired',
    cause: end?.cause ?? null,
    actor: end?.actor ?? null,
    reservedFor: reservation?.for ?? null,
    reservedUntil: reservation?.until ?? null,
  });
  assert(
    changes === 1,
    `E-3: the end of "${key}" under fence ${fence} was written ${changes} times`,
  );
}

export function appendEnded(
  tx: Transaction,
  lease: Pick<LeaseRecord, 'key' | 'fence' | 'rev' | 'session' | 'owner'>,
  end: TermEnd,
): void {
  tx.append({
    kind: 'ended',
    at: tx.now,
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
