import { epochOf, raisedOrigin } from '../../../src/lease/fence.ts';
import type { EpochRaised, RaiseEpoch } from '../../../src/lease/port.ts';
import { noticesOfRaise } from '../../../src/lease/session.ts';
import type { ModelState } from './state.ts';

export function raiseEpoch(state: ModelState, request: RaiseEpoch, by: number = 1): EpochRaised {
  const now = state.now();
  const origin = raisedOrigin(state.lastIssued, state.halted, by);
  const notices = noticesOfRaise(state.lastIssued, origin);
  state.lastIssued = origin;
  state.halted = undefined;
  for (const [id, session] of state.sessions) {
    if (session.end !== undefined) continue;
    state.sessions.set(id, { ...session, notices: session.notices + notices });
  }
  state.append({ kind: 'epoch-raised', at: now, actor: request.actor, cause: request.reason });
  return { kind: 'raised', epoch: epochOf(state.lastIssued) };
}
