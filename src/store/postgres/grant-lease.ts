import { toFence } from '../../lease/fence.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireResult, Grant } from '../../lease/port.ts';
import { type LeaseRow, toCheckpoint, toIntents, toPredecessor } from '../lease-rows.ts';
import { type Queries, statement } from './database.ts';
import { chainIsComplete, liveChain, SAME_SERVER } from './predicates.ts';

// This statement is all of acquire. It locks the row, decides, mints the fence, captures the
// predecessor, and returns checkpoint and intents from the locked row. PostgreSQL evaluates
// `set` under the lock, so the fence is minted after it (T-2).
//
// The statement is small, because starting a large plan costs more than running it. So it refuses
// if a term's end is not in the lease's own row, or if a dead waiter is in the queue. The caller
// then records the end, or skips the waiters that it has checked, and tries again.
const GRANT = statement(`
  with ${liveChain('$2')},
  granted as (
    insert into hf.lease as l (key, fence, session_id, owner, attempt_id, rev, granted_at, hard_deadline_at, prev_exit)
    select $1, nextval('hf.fence'), s.id, s.owner, $3, 1, hf_now(), hf_now() + $6, 'none'
      from hf.session s
     where s.id = $2
       and ${chainIsComplete('$2')} -- guard: alive
       and (select m.halted is null from hf.meta m where m.id = 1) -- guard: halted
       and ${SAME_SERVER} -- guard: server
       and not exists (select from hf.flap f where f.key = $1 and f.owner = s.owner and f.until - hf_now() > 2 * $7::bigint and $7 > 0) -- guard: damped
       and (not exists (select from hf.ticket t where t.key = $1 and t.id > $8 and t.id < coalesce((select mine.id from hf.ticket mine where mine.key = $1 and mine.attempt_id = $3), 9223372036854775807)) or exists (select from hf.lease r where r.key = $1 and r.reserved_for = s.owner and r.reserved_until > hf_now())) -- guard: queue
        on conflict (key) do update
       set fence                   = nextval('hf.fence'),
           session_id              = excluded.session_id,
           owner                   = excluded.owner,
           attempt_id              = excluded.attempt_id,
           rev                     = l.rev + 1,
           granted_at              = excluded.granted_at,
           hard_deadline_at        = excluded.hard_deadline_at,
           drain_request_id        = null,
           drain_by                = null,
           drain_reason            = null,
           drain_requested_at      = null,
           drain_deadline_at       = null,
           drain_successor         = null,
           ended_at                = null,
           exit                    = null,
           cause                   = null,
           actor                   = null,
           end_request_id          = null,
           prev_exit               = l.exit,
           prev_owner              = l.owner,
           prev_fence              = l.fence,
           prev_ended_at           = l.ended_at,
           prev_cause              = l.cause,
           prev_actor              = l.actor,
           losses_since_checkpoint = case when $5 and l.before_seq is not null then 0 else l.losses_since_checkpoint + (l.exit = 'expired')::integer end,
           checkpoint_seq          = case when $5 then coalesce(l.before_seq, l.checkpoint_seq) else l.checkpoint_seq end,
           checkpoint_bytes        = case when $5 then coalesce(l.before_bytes, l.checkpoint_bytes) else l.checkpoint_bytes end,
           checkpoint_digest       = case when $5 then coalesce(l.before_digest, l.checkpoint_digest) else l.checkpoint_digest end,
           checkpoint_fence        = case when $5 then coalesce(l.before_fence, l.checkpoint_fence) else l.checkpoint_fence end,
           checkpoint_at           = case when $5 then coalesce(l.before_at, l.checkpoint_at) else l.checkpoint_at end,
           checkpoint_type         = case when $5 and l.before_seq is not null then l.before_type else l.checkpoint_type end,
           before_seq              = case when $5 then null else l.before_seq end,
           reserved_for            = null,
           reserved_until          = null
     where l.ended_at is not null -- guard: held
       and l.attempt_id <> excluded.attempt_id -- guard: attempt
       and (l.exit <> 'retired' or $4) -- guard: retired
       and (l.reserved_until is null or l.reserved_until <= hf_now() or l.reserved_for = excluded.owner) -- guard: reserved
    returning l.*
  ),
  told as (
    insert into hf.event (at, kind, key, fence, rev, session_id, owner)
    select hf_now(), 'acquired', g.key, g.fence, g.rev, g.session_id, g.owner
      from granted g
  ),
  charged as (
    insert into hf.flap as f (key, owner, until, damped_until)
    select g.key, g.prev_owner, hf_now() + $7, hf_now() - $7
      from granted g
     where g.prev_exit = 'expired'
       and $7 > 0
        on conflict (key, owner) do update
       set until        = least(greatest(f.until, hf_now()) + $7, hf_now() + 4 * $7),
           damped_until = least(greatest(f.until, hf_now()) + $7, hf_now() + 4 * $7) - 2 * $7
  ),
  served as (
    delete from hf.ticket t
     using granted g
     where t.key = $1
       and t.attempt_id = $3
  )
  select g.key, g.fence, g.granted_at, g.hard_deadline_at, g.intents::text as intents,
         g.prev_exit, g.prev_owner, g.prev_fence, g.prev_ended_at, g.prev_cause, g.prev_actor,
         g.checkpoint_seq, g.checkpoint_bytes, g.checkpoint_digest, g.checkpoint_fence,
         g.checkpoint_at, g.checkpoint_type, g.losses_since_checkpoint,
         least((select min(chain.lapses_at) from chain), g.hard_deadline_at) - hf_now() as authority_ms
    from granted g`);

type GrantRow = LeaseRow & { readonly authority_ms: number };

/** Returns the grant, or undefined if a guard refused. */
export async function grantLease(
  queries: Queries,
  policy: LeasePolicy,
  options: { readonly request: Acquire; readonly queueSeen: number },
): Promise<AcquireResult | undefined> {
  const { request, queueSeen } = options;
  const [row] = await queries.rows<GrantRow>(GRANT, [
    request.key,
    request.session,
    request.attempt,
    request.reopen === true,
    request.fromCheckpointBefore === true,
    request.tenureMsMax ?? null,
    policy.flapUnitMs,
    queueSeen,
  ]);
  return row === undefined ? undefined : { kind: 'granted', replayed: false, ...toGrant(row) };
}

function toGrant(row: GrantRow): Grant {
  const checkpoint = toCheckpoint(row, 'checkpoint');
  const deadline = row.hard_deadline_at;
  return {
    key: row.key as Grant['key'],
    fence: toFence(row.fence),
    grantedAt: row.granted_at as Grant['grantedAt'],
    authorityMs: row.authority_ms,
    ...(deadline === null ? {} : { deadlineInMs: deadline - row.granted_at }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    intents: toIntents(row.intents),
    predecessor: toPredecessor(row),
    lossesSinceCheckpoint: row.losses_since_checkpoint,
  };
}
