import { decideOpen, graceWithin, lifeOf } from '../../lease/decide/session.ts';
import { clampTtl, type LeasePolicy } from '../../lease/policy.ts';
import type { OpenSession, SessionOpened } from '../../lease/port.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { type Database, statement } from './database.ts';
import { loadChains } from './load-view.ts';
import { noteLostRace } from './lost-race.ts';

// A child of a parent that is being ended at this moment is dead from the start, since validity
// looks at all ancestors; so the parent need not be locked here.
const OPEN = statement(`
  with parent as (
    select p.path
      from hf.session p
     where p.id = $3
  ),
  path as (
    select coalesce((select parent.path from parent), '{}') || $1::uuid as path
  ),
  opened as (
    insert into hf.session (id, owner, path, ttl_ms, grace_ms, metadata, opened_at, beat_at, expires_at)
    select $1, $2, path.path, $4, $5, $6::jsonb, hf_now(), hf_now(), hf_now() + $4
      from path
     where cardinality(path.path) <= $7 -- guard: depth
       and ($3::uuid is null or exists (select from parent)) -- guard: parent-known
       and not exists (select from hf.session a where a.id = any (path.path) and (a.ended_at is not null or a.expires_at - a.grace_ms <= hf_now())) -- guard: parent-alive
        on conflict (id) do nothing
    returning id, owner
  )
  insert into hf.event (at, kind, session_id, owner)
  select hf_now(), 'session-opened', opened.id, opened.owner
    from opened
  returning seq`);

export async function openSession(
  database: Database,
  policy: LeasePolicy,
  request: OpenSession,
): Promise<SessionOpened> {
  const ttlMs = clampTtl(policy, request.ttlMs);
  const opened = await database.rows(OPEN, [
    request.id,
    request.owner,
    request.parent ?? null,
    ttlMs,
    graceWithin(request.graceMs, ttlMs),
    JSON.stringify(request.metadata),
    policy.sessionDepthMax,
  ]);
  const { now, chains } = await loadChains(database, [request.id, request.parent]).catch(
    (fault: unknown) => {
      // By now it may be open: "known not done" would be wrong.
      const unclear = opened.length > 0 && fault instanceof StoreUnavailable;
      throw unclear ? new OutcomeUnknown(fault.message, { cause: fault }) : fault;
    },
  );
  const [existing = [], parent = []] = chains;
  if (opened.length === 0) {
    const decision = decideOpen({ existing, parent, policy }, request, now);
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    if (decision.kind === 'open') {
      noteLostRace('openSession', request);
      return openSession(database, policy, request);
    }
  }
  return { kind: 'opened', replayed: opened.length === 0, ...lifeOf(existing, now) };
}
