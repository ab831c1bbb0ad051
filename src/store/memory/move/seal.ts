import { givenBackBySeal } from '../../../execution/decide/seal.ts';
import { type Seal, sealCause } from '../../../execution/seal.ts';
import { chainEnd } from '../../../lease/session.ts';
import type { Instant } from '../../../support/clock.ts';
import type { SealAnswer, SealRequest } from '../../contract/seal-store.ts';
import { markEnded } from '../end-session.ts';
import type { ExecutionState } from '../executions/state.ts';

export function seal(state: ExecutionState, request: SealRequest): SealAnswer {
  const { kernel } = state;
  if (kernel.sealed !== undefined) return { kind: 'already', seal: kernel.sealed };
  const now = kernel.now();
  giveBackAll(state, now);
  const open = [...kernel.sessions.values()].filter(({ end }) => end === undefined);
  const heldUntil = Math.max(now, ...open.map(({ expiresAt }) => expiresAt)) as Instant;
  const { id, actor, reason, to } = request;
  const made: Seal = { id, at: now, actor, reason, to, heldUntil };
  for (const session of open) {
    markEnded(kernel, session, { at: now, exit: 'revoked', cause: sealCause(made), actor });
  }
  kernel.sealed = made;
  return { kind: 'sealed', seal: made };
}

/** M-3: what a session runs that has not ended. */
function giveBackAll(state: ExecutionState, now: Instant): void {
  for (const [session, ids] of [...state.running]) {
    const chain = state.kernel.chain(session);
    if (chain.length === 0 || chainEnd(chain) !== undefined) continue;
    for (const entry of [...ids].map((id) => state.entries.get(id))) {
      if (entry === undefined) continue;
      const { execution, event } = givenBackBySeal(entry.execution, entry.history, now);
      state.append(entry, [event]);
      state.put(entry, execution);
      entry.previous = 'given-back';
    }
  }
}
