import type { SessionId } from '../../../src/lease/names.ts';
import type { SessionInspection } from '../../../src/lease/port.ts';
import {
  authorityMs,
  chainState,
  remainingMs,
  type SessionChain,
} from '../../../src/lease/session.ts';
import type { Instant } from '../../../src/support/clock.ts';
import type { ModelState } from './state.ts';

export function inspectSession(state: ModelState, id: SessionId): SessionInspection | undefined {
  return inspection(state.chain(id), state.now());
}

export function inspection(chain: SessionChain, now: Instant): SessionInspection | undefined {
  const session = chain.at(-1);
  if (session === undefined) return undefined;
  return {
    session: structuredClone(session),
    state: chainState(chain, now),
    authorityMs: Math.max(0, authorityMs(chain, now)),
    remainingMs: Math.max(0, remainingMs(chain, now)),
  };
}
