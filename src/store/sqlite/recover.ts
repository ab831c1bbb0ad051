import { epochOf, raisedOrigin } from '../../lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../lease/port.ts';
import { noticesOfRaise } from '../../lease/session.ts';
import { loadMeta } from './load-view.ts';
import type { Transaction } from './transaction.ts';

const RAISE = `
  update meta
     set fence = :origin,
         halted = null
   where id = 1`;

const NOTIFY_ALL = `
  update session
     set notices = notices + :notices
   where ended_at is null`;

/**
 * Raises the epoch above every fence that was issued or shown (T-3, T-4). The notices make each
 * live holder check the leases that it still carries.
 */
export function raiseEpoch(tx: Transaction, request: RaiseEpoch, by: number = 1): EpochRaised {
  const { fence, halted } = loadMeta(tx);
  const origin = raisedOrigin(fence, halted ?? 0, by);
  tx.run(RAISE, { origin });
  tx.run(NOTIFY_ALL, { notices: noticesOfRaise(fence, origin) });
  tx.append({ kind: 'epoch-raised', at: tx.now, actor: request.actor, cause: request.reason });
  return { kind: 'raised', epoch: epochOf(origin) };
}
