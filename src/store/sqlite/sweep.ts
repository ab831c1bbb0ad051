import type { SessionId } from '../../lease/names.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import {
  deleteOld,
  deleteRetired,
  dropDeadTickets,
  listOverdue,
  type Reclaimed,
  reclaim,
  recordImpliedEnds,
} from '../sql/leases/sweep.ts';
import { play } from './gateway.ts';
import type { Transaction } from './transaction.ts';

export function sweep(tx: Transaction, { limit }: Sweep): Swept {
  const { policy } = tx;
  const overdue = play(tx, listOverdue(limit));
  const { expired, paused } = expire(tx, overdue.candidates);
  const ended = play(tx, recordImpliedEnds(limit, policy));
  for (const { key } of ended) tx.hint(key);
  play(tx, dropDeadTickets());
  const retired = play(tx, deleteRetired(limit, policy));
  const deleted = retired + play(tx, deleteOld(limit - retired, policy));
  const more = overdue.more || ended.length >= limit;
  return { expired, ended, deleted, paused, more };
}

export function expire(tx: Transaction, candidates: readonly SessionId[]): Reclaimed {
  const reclaimed = play(tx, reclaim(candidates, tx.policy));
  if (reclaimed.expired.length > 0) announceEnds(tx);
  return reclaimed;
}

/** Call this after writing the ends of sessions into their rows. */
export function announceEnds(tx: Transaction): void {
  tx.hintWaiting();
  tx.forgetSessions();
  // Workers can now claim the executions of these sessions.
  tx.notify();
}
