import { decideRecord } from '../../../execution/decide/owner.ts';
import { assert } from '../../../support/assert.ts';
import type { OwnerWrite, Recorded } from '../../contract/execution-store.ts';
import type { Transaction } from '../transaction.ts';
import { appendOwned, carry } from './owner.ts';
import { ownerView, refused } from './owner-view.ts';

export function record(tx: Transaction, request: OwnerWrite): Recorded {
  const tail = appendOwned(tx, request);
  if (tail !== undefined) {
    const { news } = tail;
    return { kind: 'recorded', news: news + carry(tx, tail.rowId, request), at: tx.now };
  }
  const view = ownerView(tx, request, request.events.length);
  const decision = decideRecord(view, request, tx.now);
  assert(decision.kind !== 'apply', 'X-1: an owner that may record was not let');
  return decision.kind === 'replay'
    ? { kind: 'recorded', news: decision.execution.news, at: decision.at }
    : refused(tx, decision.refusal);
}
