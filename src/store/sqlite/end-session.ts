import { decideEnd } from '../../lease/decide/session.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { EndSession, SessionEnded } from '../../lease/port.ts';
import type { SessionEnd } from '../../lease/session.ts';
import { assert } from '../../support/assert.ts';
import { loadChain } from './load-view.ts';
import type { Transaction } from './transaction.ts';

// H-1: one row ends every lease of the session and of its descendants. :owner is null when an
// operator ends it, who may do so at any time; L-4: an owner that is overdue may not.
const END = `
  update session
     set ended_at = :now,
         exit = :exit,
         cause = :cause,
         actor = :actor
   where id = :id
     and ended_at is null                       -- guard: ended
     and (:owner is null or owner = :owner)     -- guard: owner
     and not exists (
           select 1
             from json_each(session.path) as step
             join session as member on member.id = step.value
            where :owner is not null
              and (false
                or member.ended_at is not null       -- guard: parent
                or member.expires_at <= :now         -- guard: expiry
              )
         )
  returning owner`;

export function endSession(tx: Transaction, request: EndSession): SessionEnded {
  const { id, by } = request;
  const end: SessionEnd =
    by.kind === 'owner'
      ? { at: tx.now, exit: by.exit }
      : { at: tx.now, exit: 'revoked', cause: by.reason, actor: by.actor };
  const row = tx.get<{ owner: Owner }>(END, {
    id,
    owner: by.kind === 'owner' ? by.owner : null,
    exit: end.exit,
    cause: end.cause ?? null,
    actor: end.actor ?? null,
    now: tx.now,
  });
  if (row !== undefined) {
    announceEnd(tx, { id, owner: row.owner }, end);
    return { kind: 'ended', replayed: false };
  }
  const decision = decideEnd(loadChain(tx, id), request, tx.now);
  assert(decision.kind !== 'end', 'H-1: a session that may end was not ended by its statement');
  return decision.kind === 'refuse'
    ? { kind: 'refused', ...decision.refusal }
    : { kind: 'ended', replayed: true };
}

/** For whoever wrote the end into the session's row. */
export function announceEnd(
  tx: Transaction,
  session: { readonly id: SessionId; readonly owner: Owner },
  end: SessionEnd,
): void {
  tx.append({
    kind: 'session-ended',
    at: end.at,
    session: session.id,
    owner: session.owner,
    exit: end.exit,
    ...(end.cause === undefined ? {} : { cause: end.cause }),
    ...(end.actor === undefined ? {} : { actor: end.actor }),
  });
  tx.hintWaiting();
  tx.forgetSessions();
  // what it was running can be claimed now.
  tx.ring();
}
