import { decideRecord } from '../../../execution/decide/owner.ts';
import type { OwnerWrite, Recorded } from '../../contract/execution-store.ts';
import { entryOf, ownerView, refused, write } from './owner.ts';
import type { ExecutionState } from './state.ts';

export function record(state: ExecutionState, request: OwnerWrite): Recorded {
  const now = state.kernel.now();
  const decision = decideRecord(ownerView(state, request, request.events.length), request, now);
  if (decision.kind === 'refuse') return refused(state, decision.refusal);
  const entry = entryOf(state, request);
  if (decision.kind === 'apply') write(state, entry, { change: decision, request, now });
  // What it opened may have been answered before (W-2), which is news.
  const { news } = entry.execution;
  return { kind: 'recorded', news, at: decision.kind === 'replay' ? decision.at : now };
}
