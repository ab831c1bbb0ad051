import { decidePark } from '../../../execution/decide/owner.ts';
import type { Park, Parked } from '../../contract/execution-store.ts';
import { entryOf, ownerView, refused, write } from './owner.ts';
import type { ExecutionState } from './state.ts';

export function park(state: ExecutionState, request: Park): Parked {
  const now = state.kernel.now();
  const decision = decidePark(ownerView(state, request, request.events.length), request, now);
  if (decision.kind === 'refuse') return refused(state, decision.refusal);
  if (decision.kind === 'apply') {
    const entry = entryOf(state, request);
    write(state, entry, { change: decision, request, now });
    entry.previous = 'parked';
    // A timer may be sooner than what idle workers wait for.
    if (request.wakeInMs !== undefined) state.ring();
  }
  return { kind: 'parked' };
}
