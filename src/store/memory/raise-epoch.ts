import { epochOf, raisedOrigin } from '../../lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../lease/port.ts';
import type { MemoryState } from './state.ts';

export function raiseEpoch(state: MemoryState, request: RaiseEpoch): EpochRaised {
  const now = state.now();
  state.lastIssued = raisedOrigin(state.lastIssued, state.halted);
  state.halted = undefined;
  state.append({ kind: 'epoch-raised', at: now, actor: request.actor, cause: request.reason });
  return { kind: 'raised', epoch: epochOf(state.lastIssued) };
}
