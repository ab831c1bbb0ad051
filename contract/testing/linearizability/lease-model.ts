// The model of sessions and leases for histories of real stores. It decides with `lease/decide`, and
// leaves open what a history does not show: when a session expired, and the fence of a grant whose
// reply was lost.

import {
  type AcquireView,
  decideAcquire,
  leaseAfterGrant,
} from '../../../src/lease/decide/acquire.ts';
import { leaseInspection } from '../../../src/lease/decide/inspect.ts';
import { decideEnd, decideHeartbeat, decideOpen } from '../../../src/lease/decide/session.ts';
import {
  decideBeginIntent,
  decideCheckpoint,
  decideRelease,
  decideRevoke,
  decideSettleIntent,
  decideVerify,
  type TermDecision,
} from '../../../src/lease/decide/term.ts';
import type { Fence } from '../../../src/lease/fence.ts';
import type { LeaseRecord } from '../../../src/lease/lease.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import { type LeasePolicy, resolvePolicy } from '../../../src/lease/policy.ts';
import type { Acquire } from '../../../src/lease/port.ts';
import type { SessionChain, SessionRecord } from '../../../src/lease/session.ts';
import type { Instant } from '../../../src/support/clock.ts';
import type { SequentialModel } from './history.ts';
import { describeLeaseCall, type LeaseCall, leaseParts } from './lease-calls.ts';
import {
  agrees,
  granted,
  isRefused,
  isUnseen,
  recordSeen,
  refused,
  seenFence,
} from './lease-replies.ts';

/** The state of one key and of the sessions that use it. */
export interface LeaseModelState {
  /** The record of the key, if it was ever granted. */
  readonly lease?: LeaseRecord;
  /** The sessions, with the time of their last heartbeat. */
  readonly sessions: ReadonlyMap<SessionId, KnownSession>;
}

interface KnownSession {
  readonly record: SessionRecord;
  /** The store received the last heartbeat between these times. */
  readonly beat: { readonly from: number; readonly to: number };
}

/** Options of `leaseModel`. */
export interface LeaseModelOptions {
  /** The policy of the store. Turn flap damping and the breaker off: the model has neither. */
  readonly policy?: Partial<LeasePolicy>;
  /** Milliseconds by which the store's clock may be ahead of that of the history. Default 20. */
  readonly earlyMs?: number;
  /**
   * Milliseconds by which the readings of the store's time may differ between its clients, as on
   * etcd. A client ahead of the holder sees a session lapse or expire so much earlier. No session
   * ends earlier. Default 0.
   */
  readonly skewMs?: number;
  /**
   * Milliseconds by which the store may notice a lapse or an expiry late. Default: no bound, as for
   * a store that extends sessions after an outage.
   */
  readonly lateMs?: number;
}

/** A time for the decisions: they compare it only with times that are derived from it. */
const NOW = 1_000_000_000_000 as Instant;
/** Above the fence before it, and below all fences that a store issues later. */
const UNSEEN = 2 ** -10;

/**
 * The possible effects of the clock and of other processes on a session; the last is a stored end.
 */
const CONDITIONS = ['alive', 'lapsed', 'overdue', 'ended'] as const;
type Condition = (typeof CONDITIONS)[number];

/** A reply of the model, with the properties to compare. */
interface Step {
  readonly next: LeaseModelState;
  readonly reply: object;
}

/**
 * Returns the model of the lease store for `checkLinearizability`. It checks each key by itself,
 * with the sessions that use it.
 *
 * It covers sessions without a parent, and grants without queue, drain and `tenureMsMax`. It
 * ignores other operations. A session may expire when its time is over by the clock of the history,
 * and not before.
 *
 * @example
 * const model = leaseModel({ policy: store.policy });
 * console.log(checkLinearizability(model, leaseHistory(events)).kind);
 */
export function leaseModel(
  options: LeaseModelOptions = {},
): SequentialModel<LeaseModelState, LeaseCall, unknown> {
  const policy = resolvePolicy(options.policy);
  const { earlyMs = 20, skewMs = 0, lateMs = Number.POSITIVE_INFINITY } = options;

  /** The conditions that the times of the history allow, between `from` and `to`. */
  const conditionsOf = (
    { record, beat }: KnownSession,
    from: number,
    to: number,
  ): readonly Condition[] => {
    if (record.end !== undefined) return ['ended'];
    const least = from - beat.to - lateMs;
    const most = to - beat.from + earlyMs;
    const untilLapse = record.ttlMs - record.graceMs;
    const isPossible: Record<Condition, boolean> = {
      alive: least < untilLapse,
      lapsed: record.graceMs > 0 && most + skewMs >= untilLapse && least < record.ttlMs,
      overdue: most + skewMs >= record.ttlMs,
      ended: most >= record.ttlMs,
    };
    return CONDITIONS.filter((condition) => isPossible[condition]);
  };

  /** The state in each combination of conditions that the call may have met. */
  const worlds = (
    state: LeaseModelState,
    ids: ReadonlySet<SessionId>,
    span: { readonly from: number; readonly to: number },
  ): readonly LeaseModelState[] =>
    [...ids].reduce<readonly LeaseModelState[]>(
      (all, id) => {
        const known = state.sessions.get(id);
        if (known === undefined) return all;
        const conditions = conditionsOf(known, span.from, span.to);
        return all.flatMap((world) => conditions.map((each) => within(world, known, each)));
      },
      [state],
    );

  return {
    initial: { sessions: new Map() },
    partition: leaseParts,
    describe: describeLeaseCall,
    keyOf,
    describeState,
    changesNothing: ({ input, reply }) =>
      input.verb === 'leases.verify' || input.verb === 'leases.inspect' || isRefused(reply?.output),
    isUnobserved: ({ lease }, { input }) =>
      (input.verb === 'sessions.open' || input.verb === 'sessions.heartbeat') &&
      lease?.session !== input.request.id,
    step(state, operation, before) {
      const { input, calledAt, reply } = operation;
      if (reply === undefined && isSpent(state, input)) return [];
      const span = { from: calledAt, to: before };
      const holder = state.lease?.end === undefined ? state.lease?.session : undefined;
      const ids = new Set([sessionOf(input), holder].filter((id) => id !== undefined));
      const output = reply?.output;
      return worlds(state, ids, span)
        .flatMap((world) => stepIn(world, input, { policy, span, output }))
        .filter((each) => reply === undefined || agrees(each.reply, output))
        .map(({ next }) => withFenceSeen(next, output));
    },
  };
}

/** A call that the store refuses from now on, since its session has ended or its term is replaced. */
function isSpent({ lease, sessions }: LeaseModelState, { request }: LeaseCall): boolean {
  const { id, session, fence } = request as { id?: SessionId; session?: SessionId; fence?: Fence };
  if (fence !== undefined && lease !== undefined && fence < lease.fence) return true;
  const own = id ?? session;
  return own !== undefined && sessions.get(own)?.record.end !== undefined;
}

interface Circumstances {
  readonly policy: LeasePolicy;
  readonly span: { readonly from: number; readonly to: number };
  readonly output: unknown;
}

function stepIn(state: LeaseModelState, call: LeaseCall, at: Circumstances): readonly Step[] {
  const { policy } = at;
  const context = { policy, now: NOW };
  const { lease } = state;
  const view = { lease, holder: chainOf(state, lease?.session), lastIssued: Infinity };
  const ofTerm = (decision: TermDecision, done: (replayed: boolean) => object): readonly Step[] => [
    decision.kind === 'refuse'
      ? { next: state, reply: refused(decision.refusal) }
      : {
          next: decision.kind === 'apply' ? { ...state, lease: decision.lease } : state,
          reply: done(decision.kind === 'replay'),
        },
  ];
  switch (call.verb) {
    case 'sessions.open':
    case 'sessions.heartbeat':
    case 'sessions.end':
      return [stepOfSession(state, call, at)];
    case 'leases.acquire':
      return acquire(state, call.request, at);
    case 'leases.checkpoint': {
      // The history may have left the bytes out: their digest is compared.
      const request = { ...call.request, bytes: NO_BYTES };
      return ofTerm(decideCheckpoint(view, request, context), (replayed) => ({
        kind: 'saved',
        replayed,
      }));
    }
    case 'leases.beginIntent':
      return ofTerm(decideBeginIntent(view, call.request, context), (replayed) => ({
        kind: 'begun',
        replayed,
      }));
    case 'leases.settleIntent':
      return ofTerm(decideSettleIntent(view, call.request, context), (replayed) => ({
        kind: 'settled',
        wasOpen: !replayed,
      }));
    case 'leases.release':
      return ofTerm(decideRelease(view, call.request, context), (replayed) => ({
        kind: 'released',
        replayed,
      }));
    case 'leases.revoke':
      return ofTerm(decideRevoke(view, call.request, context), (replayed) => ({
        kind: 'revoked',
        replayed,
      }));
    case 'leases.verify': {
      const decision = decideVerify(view, call.request, NOW);
      const reply = decision.kind === 'refuse' ? refused(decision.refusal) : { kind: 'current' };
      return [{ next: state, reply }];
    }
    case 'leases.inspect': {
      const seen = { lease, holder: view.holder, waiting: 0 };
      const { state: shown } = leaseInspection(call.request, seen, NOW);
      return [{ next: state, reply: { state: shown, record: lease && recordSeen(lease) } }];
    }
  }
}

const NO_BYTES = new Uint8Array();

function stepOfSession(
  state: LeaseModelState,
  call: Extract<LeaseCall, { readonly verb: `sessions.${string}` }>,
  { policy, span }: Circumstances,
): Step {
  const { id } = call.request;
  const chain = chainOf(state, id);
  const known = state.sessions.get(id);
  const beaten = (record: SessionRecord): LeaseModelState => {
    const from = Math.max(span.from, known?.beat.from ?? span.from);
    return withSession(state, { record, beat: { from, to: span.to } });
  };
  switch (call.verb) {
    case 'sessions.open': {
      const view = { existing: chain, parent: [], policy };
      const decision = decideOpen(view, call.request, NOW);
      if (decision.kind === 'refuse') return { next: state, reply: refused(decision.refusal) };
      const replayed = decision.kind === 'replay';
      const next = decision.kind === 'replay' ? state : beaten(decision.session);
      return { next, reply: { kind: 'opened', replayed } };
    }
    case 'sessions.heartbeat': {
      const decision = decideHeartbeat(chain, call.request, { policy, now: NOW });
      if (decision.kind === 'refuse') return { next: state, reply: refused(decision.refusal) };
      const reply = { kind: 'alive', rejoined: decision.rejoined };
      return { next: beaten(decision.session), reply };
    }
    case 'sessions.end': {
      const decision = decideEnd(chain, call.request, NOW);
      if (decision.kind === 'refuse') return { next: state, reply: refused(decision.refusal) };
      const replayed = decision.kind === 'replay';
      const reply = { kind: 'ended', replayed };
      if (decision.kind === 'replay' || known === undefined) return { next: state, reply };
      const record = { ...known.record, end: decision.end };
      return { next: withSession(state, { ...known, record }), reply };
    }
  }
}

function acquire(
  state: LeaseModelState,
  request: Acquire,
  { policy, output }: Circumstances,
): readonly Step[] {
  const { lease } = state;
  const own = chainOf(state, request.session);
  const view: AcquireView = {
    ...{ own, lease, holder: chainOf(state, lease?.session), policy },
    ...{ ahead: 0, flapUntil: undefined, halted: undefined },
  };
  const decision = decideAcquire(view, request, NOW);
  switch (decision.kind) {
    case 'refuse':
    case 'refuse-session':
      return [{ next: state, reply: refused(decision.refusal) }];
    case 'replay':
      return [{ next: state, reply: granted(decision.lease, own, true) }];
    case 'reclaim':
      // The store records the end first: the state in which it has.
      return [];
    case 'grant': {
      const unseen = (lease?.fence ?? 0) + UNSEEN;
      const fence = seenFence(output) ?? unseen;
      if (fence < unseen) return [];
      const next = leaseAfterGrant(view, request, { fence: fence as Fence, now: NOW });
      return [{ next: { ...state, lease: next }, reply: granted(next, own, false) }];
    }
  }
}

function withFenceSeen(state: LeaseModelState, output: unknown): LeaseModelState {
  const { lease } = state;
  const fence = seenFence(output);
  if (lease === undefined || fence === undefined || !isUnseen(lease.fence)) return state;
  return { ...state, lease: { ...lease, fence: fence as Fence } };
}

function sessionOf(call: LeaseCall): SessionId | undefined {
  const request = call.request as { readonly id?: SessionId; readonly session?: SessionId };
  return request.id ?? request.session;
}

function chainOf(state: LeaseModelState, id: SessionId | undefined): SessionChain {
  const record = id === undefined ? undefined : state.sessions.get(id)?.record;
  return record === undefined ? [] : [record];
}

function withSession(state: LeaseModelState, known: KnownSession): LeaseModelState {
  const sessions = new Map(state.sessions).set(known.record.id, known);
  return { ...state, sessions };
}

/** The state as a call meets it while the session is so. */
function within(
  state: LeaseModelState,
  known: KnownSession,
  condition: Condition,
): LeaseModelState {
  const { record } = known;
  const left: Record<Condition, number> = { alive: record.ttlMs, lapsed: 1, overdue: 0, ended: 0 };
  const expiresAt = (NOW + left[condition]) as Instant;
  const end =
    condition === 'ended' && record.end === undefined
      ? { end: { at: NOW, exit: 'expired' } as const }
      : {};
  const now = { ...known, record: { ...record, expiresAt, ...end } };
  if (end.end === undefined) keys.set(now, sessionKeyOf(known));
  return withSession(state, now);
}

/** States are compared often and share their sessions. */
const keys = new WeakMap<LeaseModelState | KnownSession, string>();

function keyOf(state: LeaseModelState): string {
  const known = keys.get(state);
  if (known !== undefined) return known;
  const { lease, sessions } = state;
  const ofLease = lease && [
    ...[lease.fence, lease.session, lease.attempt, lease.end?.exit],
    ...[lease.checkpoint?.seq, lease.checkpoint?.digest, lease.checkpointBefore?.seq],
    ...[lease.lossesSinceCheckpoint, ...lease.intents.map(({ effect }) => effect)],
  ];
  const ofSessions = [...sessions.values()].map(sessionKeyOf).sort();
  const key = `${JSON.stringify(ofLease)} ${ofSessions.join(' ')}`;
  keys.set(state, key);
  return key;
}

function sessionKeyOf(session: KnownSession): string {
  const known = keys.get(session);
  if (known !== undefined) return known;
  const { record, beat } = session;
  const key = `${record.id}:${record.end?.exit ?? `${beat.from}-${beat.to}`}`;
  keys.set(session, key);
  return key;
}

function describeState({ lease, sessions }: LeaseModelState): string {
  if (lease === undefined) return 'the key was never granted';
  const fence = isUnseen(lease.fence) ? 'a fence that no reply shows' : `fence ${lease.fence}`;
  const end = lease.end?.exit ?? sessions.get(lease.session)?.record.end?.exit;
  const term = `${lease.owner} ${end === undefined ? 'holds it' : `held it (${end})`} under ${fence}`;
  const { checkpoint } = lease;
  return checkpoint === undefined ? term : `${term}, with checkpoint ${checkpoint.seq}`;
}
