import { decideRecord } from '../../../execution/decide/owner.ts';
import type { OwnerWrite, Recorded } from '../../contract/execution-store.ts';
import { entryOf, ownerView, refused, write } from './owner.ts';
import type { ExecutionState } from './state.ts';

export function record(state: ExecutionState, request: OwnerWrite): Recorded {
  const now = state.kernel.now();
  const decision = decideRecord(ownerView(state, request, request.events.length), request, now);
  if (decision.kind === 'refuse') return refused(state, decision.refusal);
  const { news } = decision.execution;
  if (decision.kind === 'replay') return { kind: 'recorded', news, at: decision.at };
  write(state, entryOf(state, request), { change: decision, request, now });
  return { kind: 'recorded', news, at: now };
}
