// A terminal execution is repaired by a new one (Y-20 … Y-22). Pure.

import {
  compensatingExecution,
  historyEvent,
  historyEvents,
  queuedAt,
} from '../../execution/decide/record.ts';
import { insertion, type SubmitRequest } from '../../execution/decide/submit.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type { HistoryEvent, NewEvent } from '../../execution/history.ts';
import type { ExecutionId, Payload, ProjectName } from '../../execution/names.ts';
import type { CommandRefusal, RedriveRefusal, SubmitRefusal } from '../../execution/refusal.ts';
import { assert } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';

export interface RedriveView {
  readonly of: ExecutionRecord | undefined;
  /** The open re-drive of it, if there is one. */
  readonly open: ExecutionId | undefined;
  /** Whoever has the id of the request. */
  readonly byId: ExecutionRecord | undefined;
}

export interface RedriveRequest {
  readonly of: ExecutionId;
  readonly project: ProjectName;
  /** Its `redriveOf` is `of`; it has no key: the old one keeps that. */
  readonly submit: SubmitRequest;
  /** What is reused of the old history, after `submitted`. */
  readonly events: readonly NewEvent[];
  readonly compensating: boolean;
  /** What is reused has registered compensations (Y-3). */
  readonly compensable: boolean;
}

export type RedriveDecision =
  | {
      readonly kind: 'insert';
      readonly execution: ExecutionRecord;
      /** All of them, `submitted` first. */
      readonly events: readonly HistoryEvent[];
    }
  | { readonly kind: 'existing'; readonly id: ExecutionId }
  | { readonly kind: 'refuse'; readonly refusal: CommandRefusal | RedriveRefusal | SubmitRefusal };

export function decideRedrive(
  view: RedriveView,
  request: RedriveRequest,
  now: Instant,
): RedriveDecision {
  const { of, open, byId } = view;
  const { submit, project } = request;
  assert(submit.key === undefined, 'Y-20: the key stays with what is driven again');
  if (of === undefined || of.project !== project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id: request.of } };
  }
  if (byId !== undefined) {
    return byId.redriveOf === of.id
      ? { kind: 'existing', id: byId.id }
      : { kind: 'refuse', refusal: { why: 'id-taken', id: submit.id } };
  }
  if (!isTerminal(of.status)) {
    return { kind: 'refuse', refusal: { why: 'not-ended', id: of.id, status: of.status } };
  }
  if (open !== undefined) {
    return { kind: 'refuse', refusal: { why: 'redrive-open', id: of.id, open } };
  }
  const { execution, event } = insertion(submit, now);
  const events = [event, ...historyEvents(request.events, { seq: 2, at: now })];
  const seq = events.length;
  const forward = { ...execution, seq, compensable: request.compensable };
  return {
    kind: 'insert',
    execution: request.compensating ? compensatingExecution(forward) : forward,
    events,
  };
}

// An execution that nobody runs starts to undo what it did (Y-3). Pure.

export interface TurnedBack {
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
}

/** Of a queued or waiting execution; `cause` is the body of the event. */
export function turnBack(execution: ExecutionRecord, cause: Payload, now: Instant): TurnedBack {
  const seq = execution.seq + 1;
  const event = historyEvent({ kind: 'compensating', body: cause }, { seq, at: now });
  const queued = queuedAt({ ...execution, wakeAfter: 0 }, now);
  return { execution: { ...compensatingExecution(queued), seq }, event };
}
