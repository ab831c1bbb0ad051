import { changedByEndKey } from '../../../access/decide/audit.ts';
import { decideEndKey } from '../../../access/decide/end-key.ts';
import { assert } from '../../../support/assert.ts';
import { laterBy } from '../../../support/clock.ts';
import type { EndKey, KeyEnded } from '../../contract/access-store.ts';
import { writeAudit } from '../../sql/audit.ts';
import { play } from '../gateway.ts';
import type { Transaction } from '../transaction.ts';
import { key } from './keys.ts';

// P-8: an end only comes nearer. P-13: with those that it made, as `isMadeBy` says.
const END = `
  with recursive family (id) as (
    select id
      from access_key
     where id = :id
       and (:project is null or project = :project) -- guard: known
     union
    select made.id
      from family
      join access_key made on made.created_by like '% (' || family.id || ')'
     where :made
  )
  update access_key
     set ended_at = :endAt
   where id in (select id from family)
     and (:project is null or project = :project) -- guard: project
     and (ended_at is null or ended_at > :endAt) -- guard: nearer
  returning id`;

export function endKey(tx: Transaction, request: EndKey): KeyEnded {
  const { id, project = null, inMs = 0, made: isWithMade = false } = request;
  const endAt = laterBy(tx.now, inMs);
  const before = key(tx, id);
  const values = { id, project, endAt, made: isWithMade ? 1 : 0 };
  const ended = tx.all<{ id: string }>(END, values).map((row) => row.id);
  const made = ended.filter((each) => each !== id).sort();
  const decision = decideEndKey(before, request, endAt);
  if (decision.kind === 'refused') return decision;
  const changed = ended.includes(id);
  assert(changed === (decision.kind === 'end'), 'P-8: what may be ended is ended');
  if (ended.length > 0) {
    // Who names no project may end a key of any: the row knows whose it was.
    play(
      tx,
      writeAudit(request, changedByEndKey({ id, project: before?.project }, endAt, made), tx.now),
    );
  }
  const endedAt = decision.kind === 'end' ? endAt : decision.endedAt;
  return { kind: 'ended', endedAt, changed, ...(isWithMade ? { made } : {}) };
}
