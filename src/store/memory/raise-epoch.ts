import { epochOf, raisedOrigin } from '../../lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../lease/port.ts';
import { NOTICES_PER_EPOCH } from '../../lease/session.ts';
import type { MemoryState } from './state.ts';

export function raiseEpoch(state: MemoryState, request: RaiseEpoch): EpochRaised {
  const now = state.now();
  state.lastIssued = raisedOrigin(state.lastIssued, state.halted);
  state.halted = undefined;
  for (const [id, session] of state.sessions) {
    if (session.end !== undefined) continue;
    state.sessions.set(id, { ...session, notices: session.notices + NOTICES_PER_EPOCH });
  }
  state.append({ kind: 'epoch-raised', at: now, actor: request.actor, cause: request.reason });
  return { kind: 'raised', epoch: epochOf(state.lastIssued) };
}
