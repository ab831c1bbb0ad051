import { UNSEALED_EPOCHS } from '../../../lease/fence.ts';
import type { UnsealAnswer, UnsealRequest } from '../../contract/seal-store.ts';
import { raiseEpoch } from '../raise-epoch.ts';
import type { MemoryState } from '../state.ts';

export function unseal(state: MemoryState, request: UnsealRequest): UnsealAnswer {
  const was = state.sealed;
  if (was === undefined) return { kind: 'refused', why: 'not-sealed' };
  state.sealed = undefined;
  const { actor, reason } = request;
  const { epoch } = raiseEpoch(state, { actor, reason: `unsealed: ${reason}` }, UNSEALED_EPOCHS);
  return { kind: 'unsealed', epoch, was };
}
