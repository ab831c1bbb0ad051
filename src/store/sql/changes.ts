// Changes that scripts make to a locked execution, and the functions that each store provides for
// scripts.

import type { Delivery } from '../../execution/decide/deliver.ts';
import type { ExecutionRecord, StepHeartbeat } from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ExecutionId, Payload } from '../../execution/names.ts';
import type { DeadLetter } from '../../features/repair/model.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { Submit } from '../contract/execution-store.ts';
import { heartbeatsText, holdsOf, STATUS_CODES, sagaOf } from '../execution-rows.ts';
import { all, type Script, sql } from './script.ts';

/**
 * Work that hot verbs also do, so each store has its own functions. They run in the script's
 * transaction.
 */
export interface Natives {
  /** Ends a queued or waiting execution with all consequences. */
  endWaiting(before: ExecutionRecord, end: WaitingEnd): Script<void>;
  /** Returns true if the execution is new. */
  submit(request: Submit): Script<boolean>;
  /** Hands free slots of a key to executions that wait for one. */
  handOn(slots: KeySlots): Script<void>;
  /** Neither the session nor an ancestor has ended. */
  isOpen(session: SessionId): Script<boolean>;
}

export interface WaitingEnd {
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
  readonly outcome: Payload;
  readonly deadLetter?: DeadLetter;
}

export interface KeySlots {
  readonly project: ExecutionRecord['project'];
  readonly key: string;
  readonly limit: number;
  readonly taken: number;
  readonly now: Instant;
}

const SAVE = sql(`
  update hf.execution
     set status      = :status,
         hold        = :hold,
         gated       = :gated,
         has_place   = :hasSlot,
         ready_at    = :readyAt,
         session_id  = :session,
         seq         = :seq,
         news        = :inboxCount,
         wake_after  = :wakeAfter,
         ended_at    = :endedAt,
         key         = :key,
         intent      = :intent,
         progress    = :progress,
         previous    = coalesce(:previous, previous),
         saga        = :saga,
         deadline_at = :deadlineAt
   where id = :id`);

/** The caller must have locked the row. */
export function* saveExecution(execution: ExecutionRecord, previous?: number): Script<void> {
  const status = STATUS_CODES[execution.status];
  const codes = { status, hold: holdsOf(execution), saga: sagaOf(execution), previous };
  yield* all(SAVE, { ...execution, ...codes });
}

const KEEP_HEARTBEATS = sql(`
  update hf.execution
     set heartbeats = :text
   where id = :id`);

/** The caller must have locked the row as its owner. */
export function* keepHeartbeats(
  id: ExecutionId,
  heartbeats: readonly StepHeartbeat[],
): Script<void> {
  yield* all(KEEP_HEARTBEATS, { id, text: heartbeatsText(heartbeats) });
}

const POST = sql(`
  insert into hf.inbox (execution_id, n, at, kind, name, body, key)
  values (:id, :n, :at, :kind, :name, :body, :key)`);

/** The caller has saved the row with a count that includes this message. */
export function* postMessage(id: ExecutionId, message: InboxMessage): Script<void> {
  yield* all(POST, { id, ...message });
}

// The holder looks at its executions after its next heartbeat. On PostgreSQL, this lock does not
// make owners wait.
const NOTICE = sql('update hf.session set notices = notices + 1 where id = :session');

// SQLite skips indexes whose columns a statement does not set, so these statements name only the
// columns that a message changes.
const COUNT = sql('update hf.execution set news = :inboxCount where id = :id');

const WAKE = sql(`
  update hf.execution
     set news       = :inboxCount,
         status     = :status,
         ready_at   = :readyAt,
         wake_after = :wakeAfter
   where id = :id`);

/** Delivers a message. The caller has locked the row; `before` is its content. */
export function* deliverTo(
  before: ExecutionRecord,
  { execution, message }: Delivery,
): Script<void> {
  const status = STATUS_CODES[execution.status];
  const arriving = before.status === 'waiting' ? WAKE : COUNT;
  yield* all(arriving, { ...execution, status });
  yield* postMessage(execution.id, message);
  if (before.status === 'running') yield* all(NOTICE, before);
}
