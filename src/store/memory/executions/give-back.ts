import { decideGiveBack } from '../../../execution/decide/owner.ts';
import type { GiveBack, GivenBack } from '../../contract/execution-store.ts';
import { entryOf, ownerView, refused, write } from './owner.ts';
import type { ExecutionState } from './state.ts';

export function giveBack(state: ExecutionState, request: GiveBack): GivenBack {
  const now = state.kernel.now();
  const decision = decideGiveBack(ownerView(state, request, request.events.length), request, now);
  if (decision.kind === 'refuse') return refused(state, decision.refusal);
  if (decision.kind === 'apply') {
    const entry = entryOf(state, request);
    write(state, entry, { change: decision, request, now });
    entry.previous = 'given-back';
    state.ring();
  }
  return { kind: 'given-back' };
}
