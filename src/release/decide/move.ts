// Another release for an execution that nobody runs (RE-8). Pure.

import { historyEvent, withoutHolds } from '../../execution/decide/record.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import type { ExecutionId, Payload, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { MoveRefusal } from '../refusal.ts';
import type { Release } from '../release.ts';

export interface MoveView {
  readonly execution: ExecutionRecord | undefined;
  /** The one it is to go to. */
  readonly release: Release | undefined;
}

export interface MoveRequest {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly to: string;
  /** Only from this one; null is none. */
  readonly from?: string | null;
  /** Only while its history ends here. */
  readonly seq?: number;
  /** Who and why, as the event says it. */
  readonly body: Payload;
}

export type MoveDecision =
  | { readonly kind: 'move'; readonly execution: ExecutionRecord; readonly event: HistoryEvent }
  | { readonly kind: 'no-change'; readonly execution: ExecutionRecord }
  | { readonly kind: 'refuse'; readonly refusal: MoveRefusal };

export function decideMove(view: MoveView, request: MoveRequest, now: Instant): MoveDecision {
  const { execution } = view;
  const { id, to } = request;
  if (execution === undefined || execution.project !== request.project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id } };
  }
  const refusal = refuseMove(execution, view.release, request);
  if (refusal !== undefined) return { kind: 'refuse', refusal };
  if (execution.release === to) return { kind: 'no-change', execution };
  const seq = execution.seq + 1;
  const event = historyEvent({ kind: 'moved', name: to, body: request.body }, { seq, at: now });
  // Other code may fit its history.
  const moved = { ...withoutHolds(execution, 'blocked'), release: to, seq };
  return { kind: 'move', execution: moved, event };
}

function refuseMove(
  { id, status, pipeline, seq, release: pinned }: ExecutionRecord,
  release: Release | undefined,
  { to: name, from, seq: seen }: MoveRequest,
): MoveRefusal | undefined {
  if (isTerminal(status)) return { why: 'already-ended', id, status };
  if (release === undefined) return { why: 'release-unknown', pipeline, name };
  if (release.retiredAt !== undefined) return { why: 'release-retired', pipeline, name };
  if (from !== undefined && (pinned ?? null) !== from) {
    return { why: 'pinned-elsewhere', id, ...(pinned === undefined ? {} : { release: pinned }) };
  }
  if (status === 'running') return { why: 'move-while-running', id };
  return seen === undefined || seen === seq ? undefined : { why: 'execution-went-on', id };
}
