// The Lua script of acquire. It reads everything first, then decides and writes the grant.

import { type AcquireView, decideAcquire, grantResult } from '../../lease/decide/acquire.ts';
import { toFence } from '../../lease/fence.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { Acquire, AcquireResult, Withdraw, Withdrawn } from '../../lease/port.ts';
import { AssertionFault, assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { type Database, kindOf, optionalArgument } from './database.ts';
import {
  APPEND_EVENTS,
  CHAINS,
  END_TERM,
  HINTS,
  RECORDS,
  type Script,
  script,
  TERMS,
  WAITING,
  WRITE_SESSION,
} from './lua.ts';
import { toChain, toLease } from './records.ts';
import { onKnownServer, SAME_SERVER } from './recover.ts';
import { breakerArguments, breakerLua, MARK_ENDED, RECLAIM } from './sweep.ts';

/** The reservation after a yield, whether or not the end is in the record yet (V-5). */
const RESERVATION = `
  local function reservation_after(lease, ended, reservationMs)
    if lease.ended then return lease.reservation end
    local successor = ended.exit == 'yielded' and lease.drain and lease.drain.successor
    if successor then return { owner = successor, endsAt = ended.at + reservationMs } end
  end
`;

/**
 * Charges one unit to the owner that lost the term by expiry (G-4). It must match
 * src/lease/flap.ts.
 */
const CHARGE = `
  local function charge(key, owner, when)
    local unit = when.flapUnitMs
    if unit == 0 then return end
    local name = key .. NUL .. owner
    local before = tonumber(redis.call('ZSCORE', FLAPS, name) or when.now)
    local untilAt = math.min(math.max(before, when.now) + unit, when.now + 4 * unit)
    redis.call('ZADD', FLAPS, untilAt, name)
  end
`;

/**
 * Builds the record after a grant. One step captures everything that the successor learns (A-1,
 *
 */
const GRANT = `
  local function grant(before, asked, when)
    local lease = {
      key = asked.key, session = asked.owner.id, owner = asked.owner.owner, attempt = asked.attempt,
      rev = (before and before.rev or 0) + 1, grantedAt = when.now, losses = 0,
      hardDeadlineAt = asked.tenureMsMax and when.now + asked.tenureMsMax,
      predecessor = { exit = 'none' },
    }
    if before then
      local ended = before.ended
      lease.predecessor = {
        exit = ended.exit, owner = before.owner, fence = before.fence, endedAt = ended.at,
        cause = ended.cause, actor = ended.actor,
      }
      lease.checkpoint, lease.before, lease.intents = before.checkpoint, before.before, before.intents
      lease.losses = before.losses + (ended.exit == 'expired' and 1 or 0)
      if ended.exit == 'expired' then charge(asked.key, before.owner, when) end
      redis.call('ZREM', RETIRED, asked.key)
    end
    -- Going back discards the newest checkpoint (K-5).
    if asked.goesBack and lease.before then
      redis.call('HDEL', BYTES, asked.key .. NUL .. lease.checkpoint.slot)
      lease.checkpoint, lease.before, lease.losses = lease.before, nil, 0
    end
    -- Minted here, while no other script runs (T-2).
    lease.fence = digits(redis.call('HINCRBY', META, 'fence', 1))
    redis.call('ZADD', LISTED, 0, asked.key)
    redis.call('ZADD', CARRIED, 0, lease.session .. ':' .. asked.key)
    if lease.hardDeadlineAt then redis.call('ZADD', DEADLINES, lease.hardDeadlineAt, asked.key) end
    leave_queue(asked.key, asked.attempt)
    append_term_event('acquired', lease, when.now)
    return lease, save(LEASES, asked.key, lease)
  end
`;

export const ACQUIRE: Script = script(`
  ${CHAINS}
  ${APPEND_EVENTS}
  ${HINTS}
  ${WRITE_SESSION}
  ${MARK_ENDED}
  ${RECLAIM}
  ${SAME_SERVER}
  ${TERMS}
  ${END_TERM}
  ${WAITING}
  ${RESERVATION}
  ${CHARGE}
  ${GRANT}
  local key, session, attempt, seen = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
  local mayWait, reopens, goesBack = ARGV[5] == '1', ARGV[6] == '1', ARGV[7] == '1'
  local breaker = ${breakerLua(12)}
  local when = { now = tick(), flapUnitMs = tonumber(ARGV[9]), reservationMs = tonumber(ARGV[10]) }
  local now = when.now

  local own, own_texts = chain_of(session)
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end
  local halted = redis.call('HGET', META, 'halted')
  local isEntitled = true
    and has_authority(own, now)     -- guard: alive
    and not halted                  -- guard: halted

  -- Expires overdue sessions that are in the way, after checking the stored records (E-4).
  local overdue = lease and overdue_in(holder, now) or {}
  if isEntitled and #overdue > 0 and not end_of(lease, holder, now) then
    if not is_same_server(seen) then return { 'moved' } end
    reclaim(overdue, now, breaker)
    holder, holder_texts = chain_of(lease.session)
  end

  local ended = lease and end_of(lease, holder, now)
  local reservation = ended and reservation_after(lease, ended, when.reservationMs)
  local isReserved = reservation and reservation.endsAt > now
  local me = own[#own]
  local ahead = count_ahead(key, attempt, when)
  local isSameAttempt = lease and lease.attempt == attempt
  local isOpen = isEntitled
    and (not lease or ended)                                      -- guard: held
    and not isSameAttempt                                         -- guard: attempt
    and (not ended or ended.exit ~= 'retired' or reopens)         -- guard: retired
    and not is_damped(key, me.owner, when)                        -- guard: penalty
    and (not isReserved or reservation.owner == me.owner)         -- guard: reserved
    and (ahead == 0 or isReserved)                                -- guard: queue

  local function answer(kind)
    local bytes = false
    if lease and lease.checkpoint and (kind == 'granted' or kind == 'replay') then
      bytes = redis.call('HGET', BYTES, key .. NUL .. lease.checkpoint.slot)
    end
    local flapUntil = me and redis.call('ZSCORE', FLAPS, key .. NUL .. me.owner) or false
    return { kind, now, own_texts, lease_text or false, bytes, holder_texts, ahead, flapUntil, halted }
  end

  if isOpen then
    if not is_same_server(seen) then return { 'moved' } end
    -- If the end of the previous term was not recorded, write it with its event now (E-3).
    if lease and not lease.ended then end_term(lease, ended, when) end
    local asked = { key = key, attempt = attempt, owner = me, goesBack = goesBack }
    asked.tenureMsMax = tonumber(given(ARGV[8]) or '')
    lease, lease_text = grant(lease, asked, when)
    return answer('granted')
  end
  -- The same attempt by the same session gets the same term (A-3).
  if isSameAttempt and not ended and lease.session == session then return answer('replay') end
  -- A caller cannot wait where waiting does not help (A-7).
  local helps = mayWait and isEntitled
    and not (isSameAttempt and ended)                                               -- guard: used
    and (not ended or ended.exit ~= 'retired' or reopens)                           -- guard: for-good
    and ((lease and not ended) or not is_damped(key, me.owner, when))               -- guard: kept-out
  if not helps then return answer('no') end
  local ticketUntil = now + tonumber(ARGV[11])
  take_place(key, attempt, { id = session, owner = me.owner, path = me.path, expiresAt = ticketUntil })
  return answer('queued')
`);

type AcquireReply = readonly [
  kind: Buffer,
  now: number,
  own: Buffer[],
  lease: Buffer | null,
  bytes: Buffer | null,
  holder: Buffer[],
  ahead: number,
  flapUntil: Buffer | null,
  halted: Buffer | null,
];

/** Acquires in one script and returns everything about the term. */
export function acquire(
  database: Database,
  policy: LeasePolicy,
  request: Acquire,
): Promise<AcquireResult> {
  return onKnownServer(database, policy, async () => {
    const reply = await database.run<AcquireReply>(ACQUIRE, [
      request.key,
      request.session,
      request.attempt,
      database.seen,
      ...[request.wait, request.reopen, request.fromCheckpointBefore].map((value) =>
        value === true ? 1 : 0,
      ),
      optionalArgument(request.tenureMsMax?.toString()),
      policy.flapUnitMs,
      policy.reservationMs,
      policy.ticketMs,
      ...breakerArguments(policy),
    ]);
    return kindOf(reply) === 'moved'
      ? undefined
      : answerOf(database, request, viewOf(reply, policy));
  });
}

type Seen = ReturnType<typeof viewOf>;

function answerOf(database: Database, request: Acquire, seen: Seen): AcquireResult {
  const { kind, view, now } = seen;
  if (kind === 'granted') {
    assert(view.lease !== undefined, 'A-1: a grant was answered without its lease');
    database.noteFence(view.lease.fence);
    return granted(view.lease, seen, false);
  }
  const decision = decideAcquire(view, request, now);
  switch (decision.kind) {
    case 'refuse-session':
      return { kind: 'refused', ...decision.refusal };
    case 'replay':
      database.noteFence(decision.lease.fence);
      return granted(decision.lease, seen, true);
    case 'refuse': {
      const { refusal } = decision;
      const waits = decision.mayWait && request.wait === true;
      assert(waits === (kind === 'queued'), `A-7: the script said ${kind} to "${request.key}"`);
      return waits
        ? { kind: 'queued', ahead: view.ahead, refusal }
        : { kind: 'refused', ...refusal };
    }
    case 'reclaim':
    case 'grant':
      throw new AssertionFault(`A-1: "${request.key}" may be granted and its script did not`);
  }
}

function granted(lease: LeaseRecord, { view, now }: Seen, replayed: boolean): AcquireResult {
  return { kind: 'granted', replayed, ...grantResult(lease, view.own, now) };
}

function viewOf(reply: AcquireReply, policy: LeasePolicy) {
  const [kind, now, own, record, bytes, holder, ahead, flapUntil, halted] = reply;
  const hasBytes = ['granted', 'replay'].includes(kind.toString());
  const view: AcquireView = {
    own: toChain(own),
    // A refusal does not need the bytes.
    lease: toLease(hasBytes ? { record, bytes } : { record }),
    holder: toChain(holder),
    ahead,
    flapUntil: flapUntil === null ? undefined : (Number(flapUntil.toString()) as Instant),
    halted: halted === null ? undefined : toFence(Number(halted.toString())),
    policy,
  };
  return { kind: kind.toString(), view, now: now as Instant };
}

const WITHDRAW = script(`
  ${RECORDS}
  ${HINTS}
  ${WAITING}
  local wasQueued = leave_queue(ARGV[1], ARGV[2])
  if wasQueued then hint(ARGV[1]) end
  return wasQueued and 1 or 0
`);

export async function withdraw(database: Database, request: Withdraw): Promise<Withdrawn> {
  const left = await database.run<number>(WITHDRAW, [request.key, request.attempt]);
  return { kind: 'withdrawn', wasQueued: left === 1 };
}
