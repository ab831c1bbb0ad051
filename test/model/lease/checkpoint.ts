import { decideCheckpoint } from '../../../src/lease/decide/term.ts';
import type { CheckpointResult, SaveCheckpoint } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function checkpoint(state: ModelState, request: SaveCheckpoint): CheckpointResult {
  const now = state.now();
  // K-3: later changes of the caller's bytes must not reach the stored ones.
  const own = { ...request, bytes: Uint8Array.from(request.bytes) };
  const decision = decideCheckpoint(state.termView(request.key), own, {
    policy: state.policy,
    now,
  });
  if (decision.kind === 'refuse') {
    if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
    return { kind: 'refused', ...decision.refusal };
  }
  if (decision.kind === 'apply') state.leases.set(request.key, decision.lease);
  return { kind: 'saved', replayed: decision.kind === 'replay' };
}
