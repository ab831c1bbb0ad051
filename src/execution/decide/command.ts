// Decides commands from outside an execution: cancel, pause, resume and signal.
// Pure.

import { turnBack } from '../../features/repair/decide.ts';
import type { Instant } from '../../support/clock.ts';
import { type ExecutionRecord, isInScope, isTerminal } from '../execution.ts';
import type { HistoryEvent, HistoryEventKind, InboxMessage } from '../history.ts';
import type { ExecutionRef, Payload, ProjectName } from '../names.ts';
import type { CommandRefusal } from '../refusal.ts';
import { type Delivery, deliver, type NewMessage } from './deliver.ts';
import { endedExecution, historyEvent, queuedAt, withHold, withoutHolds } from './record.ts';

export interface CommandView {
  readonly execution: ExecutionRecord | undefined;
  /** The inbox has a cancel, read or not. */
  readonly cancelRequested: boolean;
  /** The inbox has a pause that no resume has undone, so an owner may still act on it. */
  readonly pauseRequested: boolean;
  /** The inbox has a message with the key of this one. */
  readonly isRepeated?: boolean;
}

/**
 * Reads the kinds of the inbox messages, newest first. Signals and ends of children do not matter.
 */
export function requestedBy(
  kinds: readonly InboxMessage['kind'][],
): Pick<CommandView, 'cancelRequested' | 'pauseRequested'> {
  return {
    cancelRequested: kinds.includes('cancel'),
    pauseRequested: kinds.find((kind) => kind === 'pause' || kind === 'resume') === 'pause',
  };
}

export interface CommandRequest {
  readonly id: ExecutionRef;
  readonly project: ProjectName;
  readonly body: Payload;
}

/** The `child-ended` message to the parent of a cancelled execution. */
export const CANCELLED_OUTCOME: Payload = '{"status":"cancelled"}' as Payload;

type Refuse = { readonly kind: 'refuse'; readonly refusal: CommandRefusal };
type NoChange = { readonly kind: 'no-change'; readonly execution: ExecutionRecord };
type Change<Kind extends string> = {
  readonly kind: Kind;
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
};
/** `free`: the execution without owner and compensations. `message`: for the worker that ran it. */
type End = Change<'end'> & { readonly free?: ExecutionRecord; readonly message?: InboxMessage };
/** Adds a message for the next owner if the inbox has a pause that it must not act on. */
type Apply = Change<'apply'> & { readonly message?: InboxMessage };
/** Puts a message into the inbox. `toOwner`: a worker acts on it, this one or the next. */
type PassOn = { readonly kind: 'pass-on'; readonly toOwner: boolean } & Delivery;

export type CommandDecision = Apply | End | PassOn | NoChange | Refuse;

export function decideCancel(
  view: CommandView,
  request: CommandRequest & { readonly force?: boolean },
  now: Instant,
): End | Change<'apply'> | PassOn | NoChange | Refuse {
  const open = requireOpen(view, request);
  if (open.kind === 'refuse') return open;
  const { execution } = open;
  if (request.force === true) return endByForce(execution, request, now);
  if (execution.compensating) return { kind: 'no-change', execution };
  // Code in a scope gets the cancel also if it waits.
  if (execution.status === 'running' || isInScope(execution)) {
    // An owner that knows of one cancel learns nothing from a second.
    if (view.cancelRequested) return { kind: 'no-change', execution };
    const message = { kind: 'cancel', body: request.body } as const;
    return { ...passOn(execution, message, now), toOwner: true };
  }
  if (execution.compensable) {
    return { kind: 'apply', ...turnBack(execution, cancelCause(request), now) };
  }
  return endAsCancelled(execution, { ...request, now });
}

/**
 * Ends an execution whatever it does. A worker that runs it gets the cancel as a message, so
 * that it tries to record it, is refused, and stops.
 */
function endByForce(execution: ExecutionRecord, { body }: CommandRequest, now: Instant): End {
  const free = { ...execution, compensable: false };
  if (execution.status !== 'running') return { ...endAsCancelled(free, { body, now }), free };
  const { message, execution: notified } = deliver(free, { kind: 'cancel', body }, now);
  const queued = queuedAt(notified, now);
  return { ...endAsCancelled(queued, { body, now }), free: queued, message };
}

/**
 * Ends an execution that no worker runs. A cancel of the predecessor ends a successor in this way
 * too.
 */
export function endAsCancelled(
  execution: ExecutionRecord,
  about: { readonly body?: Payload; readonly now: Instant },
): Change<'end'> {
  const { body = '{}' as Payload, now } = about;
  const event = eventOf(execution, 'cancelled', { body, now });
  const ended = endedExecution(execution, { status: 'cancelled', now, seq: event.seq });
  return { kind: 'end', execution: ended, event };
}

export function decidePause(
  view: CommandView,
  request: CommandRequest,
  now: Instant,
): Change<'apply'> | PassOn | NoChange | Refuse {
  const open = requireOpen(view, request);
  if (open.kind === 'refuse') return open;
  const { execution } = open;
  if (execution.status === 'running') {
    if (view.pauseRequested) return { kind: 'no-change', execution };
    return passOn(execution, { kind: 'pause', body: request.body }, now);
  }
  if (execution.holds.includes('paused')) return { kind: 'no-change', execution };
  const event = eventOf(execution, 'paused', { ...request, now });
  const paused = { ...withHold(execution, 'paused'), seq: event.seq };
  return { kind: 'apply', execution: paused, event };
}

export function decideResume(
  view: CommandView,
  request: CommandRequest,
  now: Instant,
): Apply | PassOn | NoChange | Refuse {
  const open = requireOpen(view, request);
  if (open.kind === 'refuse') return open;
  const { execution } = open;
  const message = { kind: 'resume', body: request.body } as const;
  if (!execution.holds.includes('paused') && !execution.holds.includes('blocked')) {
    return view.pauseRequested ? passOn(execution, message, now) : { kind: 'no-change', execution };
  }
  const event = eventOf(execution, 'resumed', { ...request, now });
  // While it was held, freed slots went to other executions. Drop this hold, so that it asks for a
  // slot itself.
  const free = withoutHolds(execution, 'paused', 'blocked', 'concurrency-limit');
  const resumed = { ...free, seq: event.seq };
  if (!view.pauseRequested) return { kind: 'apply', execution: resumed, event };
  return { kind: 'apply', event, ...deliver(resumed, message, now) };
}

export function decideSignal(
  view: CommandView,
  request: CommandRequest & { readonly name: string; readonly key?: string },
  now: Instant,
): PassOn | NoChange | Refuse {
  const { execution } = view;
  // The first one arrived, also if the execution has ended since.
  if (view.isRepeated && execution?.project === request.project) {
    return { kind: 'no-change', execution };
  }
  const open = requireOpen(view, request);
  if (open.kind === 'refuse') return open;
  const { name, body, key } = request;
  const { id, deadlineAt: at } = open.execution;
  if (at !== undefined && at <= now) {
    return { kind: 'refuse', refusal: { why: 'deadline-passed', id, at } };
  }
  const message = { kind: 'signal', name, body, ...(key !== undefined && { key }) } as const;
  return passOn(open.execution, message, now);
}

/** The cause in the `compensating` event (Y-3). */
function cancelCause({ body }: CommandRequest): Payload {
  return `{"status":"cancelled","asked":${body}}` as Payload;
}

/** Commands reach neither ended executions nor those of other projects. */
function requireOpen(
  view: CommandView,
  request: CommandRequest,
): { readonly kind: 'open'; readonly execution: ExecutionRecord } | Refuse {
  const { execution } = view;
  if (execution === undefined || execution.project !== request.project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id: request.id } };
  }
  const { id, status } = execution;
  if (isTerminal(status)) return { kind: 'refuse', refusal: { why: 'already-ended', id, status } };
  return { kind: 'open', execution };
}

function passOn(execution: ExecutionRecord, message: NewMessage, now: Instant): PassOn {
  const toOwner = execution.status === 'running';
  return { kind: 'pass-on', toOwner, ...deliver(execution, message, now) };
}

/**
 * The row's seq is exact unless the execution is running. Outsiders end a running one only by force,
 * and the store then passes the exact seq.
 */
function eventOf(
  execution: ExecutionRecord,
  kind: HistoryEventKind,
  about: { readonly body: Payload; readonly now: Instant },
): HistoryEvent {
  const seq = execution.seq + 1;
  return historyEvent({ kind, body: about.body }, { seq, at: about.now });
}
