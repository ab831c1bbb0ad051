// Verbs of a holder within its term, and of operators on a term (T-6). One guarded statement
// decides. If it changes nothing, the kernel's decision explains why. If that decision allows the
// change, another transaction interfered, and the script tries again: PostgreSQL does not lock rows
// that it did not find.

import {
  decideBeginIntent,
  decideDrain,
  decideRelease,
  decideRevoke,
  decideSettleIntent,
  decideVerify,
  type TermContext,
  type TermDecision,
  type TermView,
  termResult,
} from '../../../lease/decide/term.ts';
import { drainEvent, endedEvent } from '../../../lease/event.ts';
import type { Fence } from '../../../lease/fence.ts';
import type { LeaseRecord, TermEnd } from '../../../lease/lease.ts';
import type { LeaseKey, Owner, SessionId } from '../../../lease/names.ts';
import type { LeasePolicy } from '../../../lease/policy.ts';
import type {
  BeginIntent,
  LeaseStore,
  ReleaseLease,
  RequestDrain,
  Revoke,
  SettleIntent,
  Withdraw,
  Withdrawn,
} from '../../../lease/port.ts';
import type { Refusal } from '../../../lease/refusal.ts';
import { AssertionFault } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import type { IntentRow } from '../../lease-rows.ts';
import {
  all,
  dialects,
  one,
  type PlainGateway,
  type Script,
  type Sql,
  sql,
  wrote,
} from '../script.ts';
import { appendLeaseEvents, halt } from './events.ts';
import { both, type Dialect, loadTerm, onPostgres, POSTGRES, SQLITE } from './views.ts';

/** Runs the scripts of leases. */
export interface LeaseGateway extends PlainGateway {
  /**
   * For a script whose one statement is the whole transition. PostgreSQL then needs no transaction
   * around it.
   */
  once<Result>(script: () => Script<Result>): Promise<Result>;
  /**
   * Reports that the key may be free. `isAwaited` is true if a session waits for it. It never fails
   * the caller.
   */
  freed(key: LeaseKey, isAwaited: boolean): void | Promise<void>;
}

type TermVerbs = Pick<
  LeaseStore,
  'beginIntent' | 'settleIntent' | 'release' | 'requestDrain' | 'revoke' | 'verify' | 'withdraw'
>;

export function termsOf(gateway: LeaseGateway, policy: LeasePolicy): TermVerbs {
  const { read, once, write } = gateway;
  /** A fence that the store never issued halts grants (T-4). */
  const haltIfAhead = async ({ fence }: Shown, { why }: Pick<Refusal, 'why'>): Promise<void> => {
    if (why === 'fence-ahead') await write(() => halt(fence));
  };
  return {
    async beginIntent(request) {
      const decision = await once(() => beginIntent(request, policy));
      if (decision.kind === 'refuse') await haltIfAhead(request, decision.refusal);
      return termResult(decision, (replayed) => ({ kind: 'begun', replayed }));
    },

    async settleIntent(request) {
      const decision = await once(() => settleIntent(request, policy));
      if (decision.kind === 'refuse') await haltIfAhead(request, decision.refusal);
      return termResult(decision, (replayed) => ({ kind: 'settled', wasOpen: !replayed }));
    },

    async release(request) {
      const decision = await once(() => release(request, policy));
      if (decision.kind === 'refuse') await haltIfAhead(request, decision.refusal);
      if (decision.kind === 'apply') await gateway.freed(request.key, isTrue(decision.row.awaited));
      return termResult(decision, (replayed) => ({ kind: 'released', replayed }));
    },

    async revoke(request) {
      const decision = await write(() => revoke(request, policy));
      if (decision.kind === 'refuse') await haltIfAhead(request, decision.refusal);
      if (decision.kind === 'apply') await gateway.freed(request.key, isTrue(decision.row.awaited));
      return termResult(decision, (replayed) => ({ kind: 'revoked', replayed }));
    },

    async requestDrain(request) {
      const decision = await write(() => requestDrain(request, policy));
      if (decision.kind === 'refuse') {
        await haltIfAhead(request, decision.refusal);
        return { kind: 'refused', ...decision.refusal };
      }
      const deadlineInMs = decision.drain.deadlineAt - decision.now;
      return { kind: 'draining', deadlineInMs, replayed: decision.kind === 'replay' };
    },

    async verify(request) {
      const { now, ...view } = await read(() => loadTerm(request.key));
      const decision = decideVerify(view, request, now);
      if (decision.kind === 'current') return decision;
      await haltIfAhead(request, decision.refusal);
      return { kind: 'refused', ...decision.refusal };
    },

    async withdraw(request) {
      const result = await once(() => withdraw(request));
      if (result.wasQueued) await gateway.freed(request.key, false);
      return result;
    },
  };
}

/** A key and the fence that a caller shows for it. */
interface Shown {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

/** Far more than a race can last: each loss means that another write succeeded. */
const LOSSES_MAX = 100;

type Changed<Decision, Row> =
  | { readonly kind: 'apply'; readonly row: Row }
  | (Exclude<Decision, { readonly kind: 'apply' }> & { readonly now: Instant });

interface Verb<Request, Decision> {
  readonly sql: Sql;
  decide(view: TermView, request: Request, context: TermContext): Decision;
}

function* change<Request extends Shown, Decision extends TermDecision, Row = ChangedTerm>(
  verb: Verb<Request, Decision>,
  request: Request,
  given: { readonly policy: LeasePolicy; readonly values?: object },
): Script<Changed<Decision, Row>> {
  const { policy, values } = given;
  for (let losses = 0; losses < LOSSES_MAX; losses += 1) {
    const row = yield* one<Row>(verb.sql, { ...request, ...values });
    if (row !== undefined) return { kind: 'apply', row };
    const { now, ...view } = yield* loadTerm(request.key);
    const decision = verb.decide(view, request, { policy, now });
    if (decision.kind === 'apply') continue;
    return { ...(decision as Exclude<Decision, { readonly kind: 'apply' }>), now };
  }
  throw new AssertionFault(
    `T-6: ${verb.decide.name} allows what its statement has refused ${LOSSES_MAX} times`,
  );
}

/**
 * The holder's session and its ancestors, as far as they have authority now. PostgreSQL locks them,
 * so that none can end before this commits. `for key share` waits for an end, which locks `for
 * update`, but lets heartbeats pass.
 */
function liveChain({ ancestry }: Dialect): string {
  return `chain as (
    select a.id
      from hf.session as a
     where ${ancestry('a.id', ':session')}
       and coalesce(a.ended_at is null, false) -- guard: session-ended
       and a.expires_at - a.grace_ms > hf_now() -- guard: lapse
       for key share of a
  )`;
}

/** Checks key, fence and session separately (T-6). */
function isHeld({ depth }: Dialect): string {
  return `l.key = :key
       and l.fence = :fence -- guard: fence
       and l.session_id is not distinct from :session -- guard: session
       and coalesce(l.ended_at is null, false) -- guard: ended
       and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-deadline
       and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: hard-deadline
       and (select count(*) from chain) = (select ${depth('s.path')} from hf.session as s where s.id = :session) -- guard: alive`;
}

/**
 * The session that carries the lease and its ancestors, as far as they have not ended. PostgreSQL
 * locks them as above. Without the lock, an operator could change a term that other processes know
 * to have ended with its session. Overdue is not ended.
 */
function carryingChain({ steps }: Dialect): string {
  return `chain as (
    select a.expires_at
      from hf.lease as c, hf.session as h, ${steps('h.path')}, hf.session as a
     where c.key = :key
       and h.id == c.session_id
       and a.id == step.value
       and coalesce(a.ended_at is null, false) -- guard: carrier-ended
       for key share of a
  )`;
}

function isCarried({ depth }: Dialect): string {
  return `l.key = :key
       and l.fence = :fence -- guard: newest
       and coalesce(l.ended_at is null, false) -- guard: over
       and coalesce(l.hard_deadline_at > hf_now(), true) -- guard: tenure
       and (select count(*) from chain) = (select ${depth('s.path')} from hf.session as s where s.id = l.session_id) -- guard: carried`;
}

/** SQL for the list of open intents, each in the form of `IntentRow`. */
const INTENTS = {
  sqlite: {
    begun: `json_insert(l.intents, '$[#]', json_set(json(:intent), '$.begun_at', cast(hf_now() as integer)))`,
    settled: `(select json_group_array(json(i.value) order by i.key) from json_each(l.intents) as i where i.value ->> 'effect' <> :effect)`,
    isOpen: `exists (select 1 from json_each(l.intents) as i where i.value ->> 'effect' = :effect)`,
    count: 'json_array_length(l.intents)',
  },
  postgres: {
    begun: `l.intents || jsonb_build_array(:intent::jsonb || jsonb_build_object('begun_at', hf_now()))`,
    settled: `coalesce((select jsonb_agg(i.value order by i.ordinality) from jsonb_array_elements(l.intents) with ordinality i where i.value ->> 'effect' <> :effect), '[]')`,
    isOpen: `l.intents @> jsonb_build_array(jsonb_build_object('effect', :effect::text))`,
    count: 'jsonb_array_length(l.intents)',
  },
};

// The intent is on disk before the effect may happen (K-6).
const BEGIN = both(
  (d) => `
  with ${liveChain(d)}
  update hf.lease as l
     set rev     = l.rev + 1,
         intents = ${INTENTS[d.name].begun}
   where ${isHeld(d)}
     and not ${INTENTS[d.name].isOpen} -- guard: intent-open
     and ${INTENTS[d.name].count} < :intentsMax -- guard: intents-full
  returning rev`,
);

function beginIntent(request: BeginIntent, policy: LeasePolicy) {
  const { effect, fence, note } = request;
  const intent: Omit<IntentRow, 'begun_at'> = {
    effect,
    fence,
    ...(note === undefined ? {} : { note }),
  };
  const values = { intent: JSON.stringify(intent), intentsMax: policy.intentsMax };
  return change({ sql: BEGIN, decide: decideBeginIntent }, request, { policy, values });
}

const SETTLE = both(
  (d) => `
  with ${liveChain(d)}
  update hf.lease as l
     set rev     = l.rev + 1,
         intents = ${INTENTS[d.name].settled}
   where ${isHeld(d)}
     and ${INTENTS[d.name].isOpen} -- guard: intent-to-settle
  returning rev`,
);

function settleIntent(request: SettleIntent, policy: LeasePolicy) {
  return change({ sql: SETTLE, decide: decideSettleIntent }, request, { policy });
}

/** The changed columns of a term. */
interface ChangedTerm {
  readonly rev: number;
  readonly session_id: SessionId;
  readonly owner: Owner;
  readonly now: Instant;
  readonly awaited: number | boolean;
}

const AWAITED = 'exists (select 1 from hf.ticket as t where t.key = :key) as awaited';

const CHANGED = `rev, session_id, owner, hf_now() as now, ${AWAITED}`;

// A holder releases its term (L-4). A yield to a named successor reserves the key for it for a
// while (V-5).
function releaseIn(dialect: Dialect): string {
  return `
  update hf.lease as l
     set rev            = l.rev + 1,
         ended_at       = hf_now(),
         exit           = :exit::text,
         cause          = :cause::text,
         reserved_for   = case when :exit::text = 'yielded' then l.drain_successor end,
         reserved_until = case when :exit::text = 'yielded' and l.drain_successor is not null then hf_now() + :reservationMs::bigint end
   where ${isHeld(dialect)}
  returning `;
}

// PostgreSQL writes the row and its event in one statement, because releases are as frequent as
// grants.
const RELEASE = dialects({
  sqlite: `with ${liveChain(SQLITE)} ${releaseIn(SQLITE)} ${AWAITED}`,
  postgres: `
  with ${liveChain(POSTGRES)},
  released as (${releaseIn(POSTGRES)} l.key, l.fence, l.rev, l.session_id, l.owner, l.ended_at),
  event as (
    insert into hf.event (at, kind, key, fence, rev, session_id, owner, detail)
    select r.ended_at, 'ended', r.key, r.fence, r.rev, r.session_id, r.owner,
           jsonb_build_object('exit', :exit::text, 'cause', :cause::text)
      from released as r
  )
  select ${AWAITED} from released`,
});

const RELEASED = dialects({
  sqlite: `
  insert into event (at, kind, key, fence, rev, session_id, owner, detail)
  select ended_at, 'ended', key, fence, rev, session_id, owner, json_object('exit', exit, 'cause', cause)
    from lease
   where key = :key`,
  postgres: '',
});

const RELEASING = { sql: RELEASE, decide: decideRelease };

function* release(request: ReleaseLease, policy: LeasePolicy) {
  const values = { reservationMs: policy.reservationMs };
  const changed = yield* change(RELEASING, request, { policy, values });
  if (changed.kind === 'apply') yield* all(RELEASED, request);
  return changed;
}

// An operator may end any term that has not ended, even if its session is overdue.
const REVOKE = both(
  (d) => `
  with ${carryingChain(d)}
  update hf.lease as l
     set rev            = l.rev + 1,
         ended_at       = hf_now(),
         exit           = 'revoked',
         cause          = :reason,
         actor          = :actor,
         end_request_id = :request
   where ${isCarried(d)}
     and coalesce(l.drain_deadline_at > hf_now(), true) -- guard: drain-passed
  returning ${CHANGED}`,
);

const NOTIFY = sql(`
  update hf.session
     set notices = notices + 1
   where id = :session_id`);

function* revoke(request: Revoke, policy: LeasePolicy) {
  const changed = yield* change({ sql: REVOKE, decide: decideRevoke }, request, { policy });
  if (changed.kind === 'apply') {
    const { now } = changed.row;
    const { reason: cause, actor } = request;
    yield* all(NOTIFY, changed.row);
    const end: TermEnd = { at: now, exit: 'revoked', cause, actor };
    yield* appendLeaseEvents([endedEvent(termOf(request, changed.row), end, now)]);
  }
  return changed;
}

const LOCK_TERM = onPostgres('select l.key from hf.lease l where l.key = :key for no key update');

// The script reads the holder's expiry under this lock, and a later heartbeat sees the new notice.
// So the holder is never promised more than the deadline (V-1).
const LOCK_HOLDER = onPostgres(`
  select s.id
    from hf.session s
   where s.id = (select l.session_id from hf.lease l where l.key = :key)
     for no key update`);

// The deadline is never before the expiry of the holder's session, which the holder was promised
// (V-1).
const DRAIN = both(
  (d) => `
  with ${carryingChain(d)}
  update hf.lease as l
     set rev                = l.rev + 1,
         drain_request_id   = :request,
         drain_by           = :actor,
         drain_reason       = :reason,
         drain_requested_at = hf_now(),
         drain_deadline_at  = (select ${d.greatest('hf_now() + :deadlineMs::bigint', 's.expires_at')} from hf.session as s where s.id = l.session_id),
         drain_successor    = :successor
   where ${isCarried(d)}
     and l.drain_request_id is null -- guard: draining
     and not exists (select 1 from chain where chain.expires_at <= hf_now()) -- guard: expiry
  returning ${CHANGED}, drain_requested_at, drain_deadline_at`,
);

function* requestDrain(request: RequestDrain, policy: LeasePolicy) {
  yield* all(LOCK_TERM, request);
  yield* all(LOCK_HOLDER, request);
  type Drained = ChangedTerm & { drain_requested_at: Instant; drain_deadline_at: Instant };
  const changed = yield* change<RequestDrain, ReturnType<typeof decideDrain>, Drained>(
    { sql: DRAIN, decide: decideDrain },
    request,
    { policy },
  );
  if (changed.kind !== 'apply') return changed;
  const { row } = changed;
  const { key: _, fence: __, deadlineMs: ___, ...rest } = request;
  const times = { requestedAt: row.drain_requested_at, deadlineAt: row.drain_deadline_at };
  const drain = { ...rest, ...times };
  yield* all(NOTIFY, row);
  yield* appendLeaseEvents([drainEvent(termOf(request, row), drain)]);
  return { kind: 'apply', drain, now: times.requestedAt } as const;
}

const WITHDRAW = sql(`
  delete from hf.ticket
   where key = :key
     and attempt_id = :attempt -- guard: attempt
  returning id`);

export function* withdraw(request: Withdraw): Script<Withdrawn> {
  return { kind: 'withdrawn', wasQueued: yield* wrote(WITHDRAW, request) };
}

function termOf(
  { key, fence }: Shown,
  { rev, session_id: session, owner }: ChangedTerm,
): Pick<LeaseRecord, 'key' | 'fence' | 'rev' | 'session' | 'owner'> {
  return { key, fence, rev, session, owner };
}

function isTrue(value: number | boolean): boolean {
  return value === true || value === 1;
}
