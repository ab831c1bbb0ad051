import { assert } from '../../../support/assert.ts';
import type { Claimed, ReadCarried } from '../../contract/execution-store.ts';
import { previousIn } from '../../execution-rows.ts';
import type { ExecutionState } from './state.ts';

export function carried(
  state: ExecutionState,
  { session, after, limit }: ReadCarried,
): readonly Claimed[] {
  const claims = [...(state.running.get(session) ?? [])].map((id): Claimed => {
    const entry = state.entries.get(id);
    const { fence, claimedAt } = entry?.execution ?? {};
    assert(
      entry !== undefined && fence !== undefined && claimedAt !== undefined,
      'X-27: what runs was claimed',
    );
    const previous = previousIn(entry.history[entry.claimedSeq - 1]?.body);
    return { execution: structuredClone(entry.execution), fence, previous, claimedAt };
  });
  return claims
    .filter(({ fence }) => fence > after)
    .sort((a, b) => a.fence - b.fence)
    .slice(0, limit);
}
