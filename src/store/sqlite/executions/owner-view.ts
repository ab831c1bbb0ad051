// The reads that explain why an owner's write changed nothing, in the transaction that refused it.

import type { OwnerView } from '../../../execution/decide/owner.ts';
import type { NewsRefusal, OwnerRefusal } from '../../../execution/refusal.ts';
import type { OwnerWrite } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import { loadChain, loadMeta } from '../load-view.ts';
import type { Transaction } from '../transaction.ts';
import { loadExecution } from './load-execution.ts';

const LAST_SEQ = positional(
  'id',
  `
  select coalesce(max(seq), 0)
    from history
   where row_id = (select row_id from execution where id = :id)`,
);

const STORED = `
  select seq, at, fence, kind, name, body
    from history
   where row_id = (select row_id from execution where id = :id)
     and seq >= :seq
   order by seq
   limit :count`;

export function lastSeqOf(tx: Transaction, id: string): number {
  return tx.arrays<readonly [number]>(LAST_SEQ).get(id)?.[0] ?? 0;
}

/** For the decision that says why. */
export function ownerView(
  tx: Transaction,
  { id, seq }: Pick<OwnerWrite, 'id' | 'seq'>,
  count: number,
): OwnerView {
  const execution = loadExecution(tx, id);
  return {
    execution,
    holder: loadChain(tx, execution?.session),
    lastIssued: loadMeta(tx).fence,
    lastSeq: lastSeqOf(tx, id),
    stored: tx.all<HistoryRow>(STORED, { id, seq, count }).map(toHistoryEvent),
  };
}

/** a fence that nobody issued halts claims and grants. */
export function refused<Why extends OwnerRefusal | NewsRefusal>(
  tx: Transaction,
  refusal: Why,
): { readonly kind: 'refused' } & Why {
  if (refusal.why === 'fence-ahead') tx.haltFor(refusal.fence);
  return { kind: 'refused', ...refusal };
}
