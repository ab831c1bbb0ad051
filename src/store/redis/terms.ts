// Verbs of a holder within its term, and of operators on a term. Each verb is one script. It reads
// the term, and changes it or returns the view that explains the refusal.

import {
  decideBeginIntent,
  decideCheckpoint,
  decideDrain,
  decideRelease,
  decideRevoke,
  decideSettleIntent,
  decideVerify,
  type TermContext,
  type TermDecision,
  type TermView,
  termResult,
} from '../../lease/decide/term.ts';
import type { Fence } from '../../lease/fence.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeasePolicy } from '../../lease/policy.ts';
import type { LeaseStore } from '../../lease/port.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { type Argument, type Database, kindOf, optionalArgument } from './database.ts';
import { APPEND_EVENTS, CHAINS, END_TERM, HINTS, type Script, script, TERMS } from './lua.ts';
import { toChain, toLease } from './records.ts';
import { HALT, onKnownServer, SAME_SERVER } from './recover.ts';

/** Loads the term of a script. `refuse` returns the view that explains the refusal. */
const READ_TERM = `
  ${CHAINS}
  ${APPEND_EVENTS}
  ${SAME_SERVER}
  ${HALT}
  local key, fence, seen = ARGV[1], ARGV[2], ARGV[3]
  local lease, lease_text = fetch(LEASES, key)
  local holder, holder_texts = {}, {}
  if lease then holder, holder_texts = chain_of(lease.session) end

  local function refuse(now)
    local issued = redis.call('HGET', META, 'fence') or '0'
    if tonumber(fence) > tonumber(issued) then
      -- After a failover, the server forgot the fence. Then the epoch rises, without an alarm.
      if not is_same_server(seen) then return { 'moved' } end
      halt(fence, now)
    end
    return { 'no', now, issued, lease_text or false, holder_texts }
  end
`;

const CHANGE = `
  ${READ_TERM}
  ${TERMS}
  local now = tick()

  -- The conditions for every write of a holder, each checked separately (T-6).
  local function is_held(session)
    local deadline = lease and own_deadline(lease)
    return lease
      and lease.fence == fence                    -- guard: fence
      and lease.session == session                -- guard: session
      and not lease.ended                         -- guard: over
      and (not deadline or deadline > now)        -- guard: deadline
      and has_authority(holder, now)              -- guard: alive
  end

  -- The condition for operators: the term has not ended, even if its session is overdue.
  local function goes_on()
    return lease
      and lease.fence == fence                    -- guard: newest
      and not end_of(lease, holder, now)          -- guard: ended
  end

  -- Makes the holder check its leases before it trusts its next heartbeat.
  local function notify()
    local session = holder[#holder]
    session.notices = session.notices + 1
    save(SESSIONS, session.id, session)
  end
`;

// There are two slots for bytes. New bytes replace those of the checkpoint before the last (K-5).
const SAVE = script(`
  ${CHANGE}
  local seq = ARGV[5]
  local isAllowed = is_held(ARGV[4])
    and (not lease.checkpoint or tonumber(seq) > tonumber(lease.checkpoint.seq)) -- guard: seq
  if not isAllowed then return refuse(now) end
  local slot = lease.checkpoint and lease.checkpoint.slot == 'a' and 'b' or 'a'
  lease.rev = lease.rev + 1
  lease.before = lease.checkpoint
  lease.checkpoint = { seq = seq, digest = ARGV[6], fence = fence, at = now, type = given(ARGV[7]), slot = slot }
  lease.losses = 0
  redis.call('HSET', BYTES, key .. NUL .. slot, ARGV[8])
  save(LEASES, key, lease)
  return { 'done' }
`);

// The intent is stored before the effect may happen (K-6).
const BEGIN = script(`
  ${CHANGE}
  local effect = ARGV[5]
  local intents = lease and lease.intents or {}
  local isBegun = false
  for _, intent in ipairs(intents) do isBegun = isBegun or intent.effect == effect end
  local isAllowed = is_held(ARGV[4])
    and not isBegun                            -- guard: effect
    and #intents < tonumber(ARGV[7])           -- guard: intents
  if not isAllowed then return refuse(now) end
  intents[#intents + 1] = { effect = effect, fence = fence, begunAt = now, note = given(ARGV[6]) }
  lease.rev = lease.rev + 1
  lease.intents = intents
  save(LEASES, key, lease)
  return { 'done' }
`);

const SETTLE = script(`
  ${CHANGE}
  local left = {}
  for _, intent in ipairs(lease and lease.intents or {}) do
    if intent.effect ~= ARGV[5] then left[#left + 1] = intent end
  end
  local isAllowed = is_held(ARGV[4])
    and #left < #(lease.intents or {}) -- guard: open
  if not isAllowed then return refuse(now) end
  lease.rev = lease.rev + 1
  lease.intents = #left > 0 and left or nil
  save(LEASES, key, lease)
  return { 'done' }
`);

const RELEASE = script(`
  ${CHANGE}
  ${HINTS}
  ${END_TERM}
  if not is_held(ARGV[4]) then return refuse(now) end
  local ended = { at = now, exit = ARGV[5], cause = given(ARGV[6]) }
  end_term(lease, ended, { now = now, reservationMs = tonumber(ARGV[7]) })
  return { 'done' }
`);

const REVOKE = script(`
  ${CHANGE}
  ${HINTS}
  ${END_TERM}
  if not goes_on() then return refuse(now) end
  local ended = { at = now, exit = 'revoked', cause = ARGV[6], actor = ARGV[5], request = ARGV[4] }
  end_term(lease, ended, { now = now, reservationMs = 0 })
  notify()
  return { 'done' }
`);

// The holder was promised authority up to its session's expiry, and may not know of the drain yet
// (V-1).
const DRAIN = script(`
  ${CHANGE}
  local isAllowed = goes_on()
    and #overdue_in(holder, now) == 0             -- guard: expiry
    and not lease.drain                           -- guard: draining
  if not isAllowed then return refuse(now) end
  local drain = {
    request = ARGV[4], by = ARGV[5], reason = ARGV[6], requestedAt = now, successor = given(ARGV[8]),
    deadlineAt = math.max(now + tonumber(ARGV[7]), holder[#holder].expiresAt),
  }
  lease.rev = lease.rev + 1
  lease.drain = drain
  save(LEASES, key, lease)
  redis.call('ZADD', DEADLINES, own_deadline(lease), key)
  notify()
  append_term_event('drain-requested', lease, now, { actor = drain.by, cause = drain.reason, deadlineAt = drain.deadlineAt })
  return { 'done', drain.deadlineAt - now }
`);

// Writes nothing except a halt for a fence that was never issued.
const VERIFY = script(`
  ${READ_TERM}
  return refuse(peek())
`);

type TermVerbs = Pick<
  LeaseStore,
  'checkpoint' | 'beginIntent' | 'settleIntent' | 'release' | 'requestDrain' | 'revoke' | 'verify'
>;

export function termsOf(database: Database, policy: LeasePolicy): TermVerbs {
  const terms = new Terms(database, policy);
  return {
    async checkpoint(request) {
      const { session, seq, digest, type, bytes } = request;
      if (bytes.byteLength > policy.checkpointBytesMax) {
        const bytesMax = policy.checkpointBytesMax;
        const why = 'checkpoint-too-large';
        return { kind: 'refused', why, bytes: bytes.byteLength, bytesMax };
      }
      // Copy the bytes, so that a caller that changes its array before they are sent cannot change
      // the stored value (K-3).
      const values = [session, seq, digest, optionalArgument(type), Uint8Array.from(bytes)];
      const decision = await terms.change(
        { script: SAVE, decide: decideCheckpoint },
        request,
        values,
      );
      return termResult(decision, (replayed) => ({ kind: 'saved', replayed }));
    },

    async beginIntent(request) {
      const { session, effect, note } = request;
      const values = [session, effect, optionalArgument(note), policy.intentsMax];
      const decision = await terms.change(
        { script: BEGIN, decide: decideBeginIntent },
        request,
        values,
      );
      return termResult(decision, (replayed) => ({ kind: 'begun', replayed }));
    },

    async settleIntent(request) {
      const values = [request.session, request.effect];
      const decision = await terms.change(
        { script: SETTLE, decide: decideSettleIntent },
        request,
        values,
      );
      return termResult(decision, (replayed) => ({ kind: 'settled', wasOpen: !replayed }));
    },

    async release(request) {
      const { session, exit, cause } = request;
      const values = [session, exit, optionalArgument(cause), policy.reservationMs];
      const decision = await terms.change(
        { script: RELEASE, decide: decideRelease },
        request,
        values,
      );
      return termResult(decision, (replayed) => ({ kind: 'released', replayed }));
    },

    async revoke(request) {
      const values = [request.request, request.actor, request.reason];
      const decision = await terms.change(
        { script: REVOKE, decide: decideRevoke },
        request,
        values,
      );
      return termResult(decision, (replayed) => ({ kind: 'revoked', replayed }));
    },

    async requestDrain(request) {
      const { actor, reason, deadlineMs, successor } = request;
      const values = [request.request, actor, reason, deadlineMs, optionalArgument(successor)];
      const decision = await terms.change({ script: DRAIN, decide: decideDrain }, request, values);
      if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
      return decision.kind === 'apply'
        ? { kind: 'draining', deadlineInMs: decision.returned, replayed: false }
        : {
            kind: 'draining',
            deadlineInMs: decision.drain.deadlineAt - decision.now,
            replayed: true,
          };
    },

    async verify(request) {
      const { view, now } = await terms.readTerm(request);
      const decision = decideVerify(view, request, now);
      return decision.kind === 'current' ? decision : { kind: 'refused', ...decision.refusal };
    },
  };
}

/** A key and the fence that a caller shows for it. */
interface Shown {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

/** The reply of a script that changed something, or refused, or found another server. */
type TermReply =
  | readonly [kind: Buffer, returned: number]
  | readonly [kind: Buffer, now: number, issued: Buffer, lease: Buffer | null, holder: Buffer[]];

interface Verb<Request, Decision> {
  readonly script: Script;
  decide(view: TermView, request: Request, context: TermContext): Decision;
}

class Terms {
  readonly #database: Database;
  readonly #policy: LeasePolicy;

  constructor(database: Database, policy: LeasePolicy) {
    this.#database = database;
    this.#policy = policy;
  }

  async change<Request extends Shown, Decision extends TermDecision>(
    verb: Verb<Request, Decision>,
    request: Request,
    values: readonly Argument[],
  ): Promise<
    | { readonly kind: 'apply'; readonly returned: number }
    | (Exclude<Decision, { readonly kind: 'apply' }> & { readonly now: Instant })
  > {
    const reply = await this.#run(verb.script, request, values);
    if (kindOf(reply) === 'done') return { kind: 'apply', returned: reply[1] };
    const { view, now } = viewOf(reply);
    const decision = verb.decide(view, request, { policy: this.#policy, now });
    assert(
      decision.kind !== 'apply',
      `T-6: ${verb.decide.name} allows what its script has refused`,
    );
    return { ...(decision as Exclude<Decision, { readonly kind: 'apply' }>), now };
  }

  async readTerm(request: Shown): Promise<{ readonly view: TermView; readonly now: Instant }> {
    return viewOf(await this.#run(VERIFY, request, []));
  }

  #run(verb: Script, request: Shown, values: readonly Argument[]): Promise<TermReply> {
    return onKnownServer(this.#database, this.#policy, async () => {
      const shown = [request.key, request.fence, this.#database.seen];
      const reply = await this.#database.run<TermReply>(verb, [...shown, ...values]);
      return kindOf(reply) === 'moved' ? undefined : reply;
    });
  }
}

function viewOf(reply: TermReply): { readonly view: TermView; readonly now: Instant } {
  const [, now, issued, record = null, holder = []] = reply;
  return {
    now: now as Instant,
    view: {
      lease: toLease({ record }),
      holder: toChain(holder),
      lastIssued: Number(issued?.toString() ?? 0),
    },
  };
}
