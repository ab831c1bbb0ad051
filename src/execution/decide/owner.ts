// Decides the writes of a claim's owner. Pure.

import type { Fence } from '../../lease/fence.ts';
import type { SessionId } from '../../lease/names.ts';
import { chainEnd, type SessionChain } from '../../lease/session.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import type { ExecutionRecord, TerminalStatus } from '../execution.ts';
import type { HistoryEvent, NewEvent } from '../history.ts';
import type { ExecutionId, Payload, ProjectName } from '../names.ts';
import type { OwnerRefusal, UnreadRefusal } from '../refusal.ts';
import {
  compensatingExecution,
  endedExecution,
  historyEvents,
  queuedAfter,
  unset,
  withHold,
} from './record.ts';

export interface OwnerView {
  readonly execution: ExecutionRecord | undefined;
  /**
   * The session chain of the newest claim. Empty if no session has the claim, or if the store has
   * deleted it.
   */
  readonly holder: SessionChain;
  /** The greatest fence this store has issued. */
  readonly lastIssued: number;
  readonly lastSeq: number;
  /** The stored events from the request's seq on, at least as many as the request has. */
  readonly stored: readonly HistoryEvent[];
}

interface OwnerRequest {
  readonly id: ExecutionId;
  readonly fence: Fence;
  readonly session: SessionId;
  readonly seq: number;
  readonly events: readonly NewEvent[];
  readonly progress?: Payload;
  /** The project that the caller claims it for. Without it: any project. */
  readonly project?: ProjectName;
}

type Refuse<Why = OwnerRefusal> = { readonly kind: 'refuse'; readonly refusal: Why };
type Replay = {
  readonly kind: 'replay';
  readonly execution: ExecutionRecord;
  readonly at: Instant;
};
type Change = {
  readonly kind: 'apply';
  readonly execution: ExecutionRecord;
  readonly events: readonly HistoryEvent[];
};
export type OwnerDecision = Change | Replay | Refuse;

/** The row keeps its seq; while the execution runs, the history counts. */
export function decideRecord(view: OwnerView, request: OwnerRequest, now: Instant): OwnerDecision {
  return replayOf(view, request, () => true) ?? decideWrite(view, request, now);
}

/** Decides whether the user's transaction may run, before its events are known. */
export function refuseTransact(
  view: OwnerView,
  request: Omit<OwnerRequest, 'events'>,
): OwnerRefusal | undefined {
  const owned = requireOwner(view, request);
  if (owned.kind === 'refuse') return owned.refusal;
  return request.seq === view.lastSeq + 1 ? undefined : seqTaken(request);
}

/**
 * Ends the execution. Its store makes the other changes of an end in the same transaction.
 */
export function decideFinish(
  view: OwnerView,
  request: OwnerRequest & {
    readonly status: TerminalStatus;
    readonly inboxSeen?: number;
    readonly successor?: object;
  },
  now: Instant,
): OwnerDecision | Refuse<UnreadRefusal> {
  const replay = replayOf(view, request, ({ status }) => status === request.status);
  const written = replay ?? decideWrite(view, request, now);
  if (written.kind !== 'apply') return written;
  // A successor gets the unread messages.
  const { successor, inboxSeen = Infinity } = request;
  if (successor === undefined && written.execution.inboxCount > inboxSeen)
    return unreadMessages(written);
  const seq = lastSeqOf(view, written);
  return { ...written, execution: endedExecution(written.execution, { ...request, now, seq }) };
}

export interface ParkRequest {
  /** Wakes the execution after this long. */
  readonly wakeInMs?: number;
  /**
   * The number of children that must end before they wake it. Zero when it waits for none, or for
   * any.
   */
  readonly wakeAfter: number;
  /**
   * The last message that the owner read. The store refuses to park when a later one has arrived
   * (X-5).
   */
  readonly inboxSeen: number;
  /** The execution has registered compensations (Y-3). */
  readonly compensable?: boolean;
}

/** Refuses to park while the inbox has unread messages. */
export function decidePark(
  view: OwnerView,
  request: OwnerRequest & ParkRequest,
  now: Instant,
): OwnerDecision | Refuse<UnreadRefusal> {
  const written = replayOf(view, request, isOver(request)) ?? decideWrite(view, request, now);
  if (written.kind !== 'apply') return written;
  if (written.execution.inboxCount > request.inboxSeen) return unreadMessages(written);
  const { wakeInMs, wakeAfter, compensable = false } = request;
  const execution: ExecutionRecord = {
    ...unset(written.execution, 'session', 'readyAt'),
    status: 'waiting',
    ...(wakeInMs === undefined ? {} : { readyAt: laterBy(now, wakeInMs) }),
    wakeAfter,
    compensable: compensable && !written.execution.compensating,
    seq: lastSeqOf(view, written),
  };
  return { ...written, execution };
}

export interface GiveBackRequest {
  readonly delayMs?: number;
  /** The execution stays open and blocked, with an explanation, until an operator resumes it. */
  readonly blocked?: boolean;
  readonly paused?: boolean;
  /**
   * The last message that the owner read, if it gives back because of a message. The store refuses
   * when a later one has arrived.
   */
  readonly inboxSeen?: number;
  /** The execution has registered compensations (Y-3). */
  readonly compensable?: boolean;
  /** The execution compensates from here on (Y-2). */
  readonly compensating?: boolean;
}

/** Gives the execution back to the queue. */
export function decideGiveBack(
  view: OwnerView,
  request: OwnerRequest & GiveBackRequest,
  now: Instant,
): OwnerDecision | Refuse<UnreadRefusal> {
  const written = replayOf(view, request, isOver(request)) ?? decideWrite(view, request, now);
  if (written.kind !== 'apply') return written;
  const { inboxSeen } = request;
  if (inboxSeen !== undefined && written.execution.inboxCount > inboxSeen)
    return unreadMessages(written);
  const queued = queuedAfter(written.execution, now, request.delayMs);
  const blocked = request.blocked === true ? withHold(queued, 'blocked') : queued;
  const held = request.paused === true ? withHold(blocked, 'paused') : blocked;
  const { compensable = false } = request;
  const kept = { ...held, compensable: compensable && !held.compensating };
  const turned = request.compensating === true ? compensatingExecution(kept) : kept;
  return { ...written, execution: { ...turned, seq: lastSeqOf(view, written) } };
}

function decideWrite(view: OwnerView, request: OwnerRequest, now: Instant): Change | Refuse {
  const owned = requireOwner(view, request);
  if (owned.kind === 'refuse') return owned;
  const { seq, fence, events, progress } = request;
  if (events.length > 0 && seq !== view.lastSeq + 1) {
    return { kind: 'refuse', refusal: seqTaken(request) };
  }
  const execution = progress === undefined ? owned.execution : { ...owned.execution, progress };
  return { kind: 'apply', execution, events: historyEvents(events, { seq, at: now, fence }) };
}

/** Checks the owner and returns the first reason for a refusal, in the order of the rule. */
function requireOwner(
  view: OwnerView,
  request: Pick<OwnerRequest, 'id' | 'fence' | 'session'>,
): { readonly kind: 'owned'; readonly execution: ExecutionRecord } | Refuse {
  const { id, fence } = request;
  const { execution } = view;
  const refuse = (refusal: OwnerRefusal): Refuse => ({ kind: 'refuse', refusal });
  if (fence > view.lastIssued) return refuse({ why: 'fence-ahead', id, fence });
  if (execution === undefined) return refuse({ why: 'execution-unknown', id });
  const { status, fence: newest } = execution;
  if (newest !== undefined && newest !== fence) {
    return refuse({ why: 'superseded', id, fence, newest, status });
  }
  if (status !== 'running') return refuse({ why: 'not-running', id, status });
  const isEnded = view.holder.length === 0 || chainEnd(view.holder) !== undefined;
  if (isEnded || execution.session !== request.session) {
    return refuse({ why: 'claim-ended', id, fence });
  }
  return { kind: 'owned', execution };
}

/**
 * The store already has the whole write, under the same fence, and its effect. A caller that
 * guesses events of another project does not learn that it was right.
 */
function replayOf(
  view: OwnerView,
  request: OwnerRequest,
  hasHappened: (execution: ExecutionRecord) => boolean,
): Replay | Refuse | undefined {
  const { execution, stored } = view;
  const { id, events, fence, project } = request;
  const first = stored[0];
  if (execution === undefined || first === undefined || events.length === 0) return undefined;
  const isStored = events.every((event, index) => isSame(stored[index], { ...event, fence }));
  if (!isStored || !hasHappened(execution)) return undefined;
  if (project !== undefined && project !== execution.project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id } };
  }
  return { kind: 'replay', execution, at: first.at };
}

/** True if its claim has ended: no session runs the execution, or another one does. */
function isOver(request: OwnerRequest): (execution: ExecutionRecord) => boolean {
  return ({ status, fence }) => status !== 'running' || fence !== request.fence;
}

function isSame(
  stored: HistoryEvent | undefined,
  event: NewEvent & { readonly fence: Fence },
): boolean {
  return (
    stored !== undefined &&
    stored.fence === event.fence &&
    stored.kind === event.kind &&
    stored.name === event.name &&
    stored.body === event.body
  );
}

function unreadMessages({ execution }: Change): Refuse<UnreadRefusal> {
  const { id, inboxCount } = execution;
  return { kind: 'refuse', refusal: { why: 'unread-messages', id, inboxCount } };
}

function lastSeqOf(view: OwnerView, change: Change): number {
  return view.lastSeq + change.events.length;
}

function seqTaken({ id, seq }: Pick<OwnerRequest, 'id' | 'seq'>): OwnerRefusal {
  return { why: 'seq-taken', id, seq };
}
