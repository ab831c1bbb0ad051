import { changedByEndKey } from '../../../access/decide/audit.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import type { Changed } from '../../../execution/decide/audit.ts';
import { assert } from '../../../support/assert.ts';
import { type Instant, laterBy } from '../../../support/clock.ts';
import type { EndKey, KeyEnded } from '../../contract/access-store.ts';
import { writeAudit } from '../executions/audit.ts';
import type { Transaction } from '../transaction.ts';
import { key } from './keys.ts';

// P-8: an end only comes nearer.
const END = `
  update access_key
     set ended_at = :endAt
   where id = :id
     and (:project is null or project = :project) -- guard: project
     and (ended_at is null or ended_at > :endAt) -- guard: nearer`;

export function endKey(tx: Transaction, request: EndKey): KeyEnded {
  const { id, project = null, inMs = 0 } = request;
  const endedAt = laterBy(tx.now, inMs);
  if (tx.run(END, { id, project, endAt: endedAt }) > 0) {
    if (request.audit !== undefined) writeAudit(tx, request, ofEnd(tx, id, endedAt));
    return { kind: 'ended', endedAt, changed: true };
  }
  const decision = decideEndKey(key(tx, id), request, endedAt);
  assert(decision.kind !== 'end', 'P-8: what may be ended is ended');
  return decision.kind === 'refused'
    ? decision
    : { kind: 'ended', endedAt: decision.endedAt, changed: false };
}

/** Who names no project may end a key of any: the row knows whose it was. */
function ofEnd(tx: Transaction, id: string, endedAt: Instant): Changed {
  return changedByEndKey({ id, project: key(tx, id)?.project }, endedAt);
}
