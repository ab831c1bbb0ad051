import { type AccessKey, isMadeBy } from '../../../access/access-key.ts';
import { changedByEndKey } from '../../../access/decide/audit.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import { laterBy } from '../../../support/clock.ts';
import type { EndKey, KeyEnded } from '../../contract/access-store.ts';
import { writeAudit } from '../executions/audit.ts';
import { inByteOrder } from '../executions/state.ts';
import type { AccessState } from './state.ts';

export function endKey(state: AccessState, request: EndKey): KeyEnded {
  const now = state.kernel.now();
  const endedAt = laterBy(now, request.inMs ?? 0);
  const end = (id: string): ReturnType<typeof decideEndKey> => {
    const decision = decideEndKey(state.keys.get(id), { ...request, id }, endedAt);
    if (decision.kind === 'end') state.keys.set(id, { ...decision.key, endedAt });
    return decision;
  };
  const stored = state.keys.get(request.id);
  const decision = end(request.id);
  if (decision.kind === 'refused' || stored === undefined) {
    return { kind: 'refused', why: 'key-unknown', id: request.id };
  }
  const made =
    request.made === true ? madeBy(state, stored).filter((id) => end(id).kind === 'end') : [];
  const changed = decision.kind === 'end';
  if (changed || made.length > 0) {
    const act = changedByEndKey(stored, endedAt, made);
    writeAudit(state.executions, request, { changed: act, now });
  }
  return {
    ...{ kind: 'ended', endedAt: decision.kind === 'end' ? endedAt : decision.endedAt, changed },
    ...(request.made === true ? { made } : {}),
  };
}

/** Also those that were made by one that it made. */
function madeBy(state: AccessState, { id }: AccessKey): readonly string[] {
  const family = new Set([id]);
  for (const maker of family) {
    for (const each of state.keys.values()) if (isMadeBy(each, maker)) family.add(each.id);
  }
  family.delete(id);
  return [...family].sort(inByteOrder);
}
