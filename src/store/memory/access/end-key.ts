import { changedByEndKey } from '../../../access/decide/audit.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import { laterBy } from '../../../support/clock.ts';
import type { EndKey, KeyEnded } from '../../contract/access-store.ts';
import { writeAudit } from '../executions/audit.ts';
import type { AccessState } from './state.ts';

export function endKey(state: AccessState, request: EndKey): KeyEnded {
  const stored = state.keys.get(request.id);
  const now = state.kernel.now();
  const endedAt = laterBy(now, request.inMs ?? 0);
  const decision = decideEndKey(stored, request, endedAt);
  if (decision.kind === 'refused') return decision;
  if (decision.kind === 'no-change') {
    return { kind: 'ended', endedAt: decision.endedAt, changed: false };
  }
  state.keys.set(request.id, { ...decision.key, endedAt });
  const changed = changedByEndKey(decision.key, endedAt);
  writeAudit(state.executions, request, { changed, now });
  return { kind: 'ended', endedAt, changed: true };
}
