// Opens and ends sessions.

import { decideEnd, decideOpen, endBy, lifeOf } from '../../../lease/decide/session.ts';
import { sessionEndedEvent } from '../../../lease/event.ts';
import type { Owner } from '../../../lease/names.ts';
import type { LeasePolicy } from '../../../lease/policy.ts';
import type { EndSession, OpenSession, SessionEnded, SessionOpened } from '../../../lease/port.ts';
import { AssertionFault } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import { toChain } from '../../lease-rows.ts';
import { all, one, type Script, sql, wrote } from '../script.ts';
import { appendLeaseEvents } from './events.ts';
import { both, type ChainColumn, loadChain, onPostgres } from './views.ts';

const FAMILY = both(
  (d) => `
  select hf_now() as now, ${d.chainOf(':id')} as existing, ${d.chainOf(':parent')} as parent`,
);

interface FamilyRow {
  readonly now: Instant;
  readonly existing: ChainColumn;
  readonly parent: ChainColumn;
}

// This does not lock the parent. If the parent ends at this moment, the child is dead from the
// start, because validity depends on all ancestors.
const INSERT = sql(`
  insert into hf.session (id, owner, path, ttl_ms, grace_ms, metadata, opened_at, beat_at, expires_at, extended, notices)
  values (:id, :owner, :path::uuid[], :ttlMs, :graceMs, :metadata::jsonb, :openedAt, :beatAt, :expiresAt, false, 0)
      on conflict (id) do nothing
  returning id`);

/** Each loss means that another call changed the session or an ancestor in between. */
const LOSSES_MAX = 100;

/**
 * Reads before it writes. A process opens its session once, so the extra statement does not matter.
 */
export function* openSession(request: OpenSession, policy: LeasePolicy): Script<SessionOpened> {
  for (let losses = 0; losses < LOSSES_MAX; losses += 1) {
    const row = yield* one<FamilyRow>(FAMILY, request);
    const now = row?.now as Instant;
    const [existing, parent] = [toChain(row?.existing), toChain(row?.parent)];
    const decision = decideOpen({ existing, parent, policy }, request, now);
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    if (decision.kind === 'replay') {
      return { kind: 'opened', replayed: true, ...lifeOf(existing, now) };
    }
    const { session } = decision;
    if (!(yield* wrote(INSERT, { ...session, metadata: JSON.stringify(session.metadata) })))
      continue;
    const { id, owner } = session;
    yield* appendLeaseEvents([{ kind: 'session-opened', at: now, session: id, owner }]);
    return { kind: 'opened', replayed: false, ...lifeOf([...parent, session], now) };
  }
  throw new AssertionFault(`S-4: the session ${request.id} can be opened and was not`);
}

// `for update` waits for all writes under way in this session, so none of them commits after the
// end.
const LOCK = onPostgres('select s.id from hf.session s where s.id = :id for update');

// Ending this row ends all leases of the session and its descendants (H-1). `:owner` is null for an
// operator, who may end a session at any time. An overdue owner may not (L-4).
const END = both(
  (d) => `
  update hf.session as s
     set ended_at = hf_now(),
         exit     = :exit,
         cause    = :cause,
         actor    = :actor
   where s.id = :id
     and s.ended_at is null -- guard: ended
     and (:owner::text is null or s.owner = :owner) -- guard: owner
     and (:owner::text is null or not exists (select 1 from ${d.steps('s.path')} join hf.session as a on a.id == step.value where coalesce(a.ended_at is not null, false))) -- guard: parent
     and (:owner::text is null or not exists (select 1 from ${d.steps('s.path')} join hf.session as a on a.id == step.value where a.expires_at <= hf_now())) -- guard: expiry
  returning owner, ended_at`,
);

export function* endSession(request: EndSession): Script<SessionEnded> {
  const { id, by } = request;
  const { exit, cause, actor } = endBy(by, 0 as Instant);
  const owner = by.kind === 'owner' ? by.owner : null;
  yield* all(LOCK, { id });
  for (let losses = 0; losses < LOSSES_MAX; losses += 1) {
    const values = { id, owner, exit, cause, actor };
    const ended = yield* one<{ owner: Owner; ended_at: Instant }>(END, values);
    if (ended !== undefined) {
      yield* appendLeaseEvents([
        sessionEndedEvent({ id, owner: ended.owner }, endBy(by, ended.ended_at)),
      ]);
      return { kind: 'ended', replayed: false };
    }
    const { now, chain } = yield* loadChain(id);
    const decision = decideEnd(chain, request, now);
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    if (decision.kind === 'replay') return { kind: 'ended', replayed: true };
  }
  throw new AssertionFault(`H-1: the session ${id} may end and its statement did not end it`);
}
