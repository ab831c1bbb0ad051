// Changes that scripts make to an execution, with its row locked, and functions that they leave to the stores.

import type { Delivery } from '../../execution/decide/deliver.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent, InboxMessage } from '../../execution/history.ts';
import type { ExecutionId, Payload } from '../../execution/names.ts';
import type { DeadLetter } from '../../features/repair/model.ts';
import type { Instant } from '../../support/clock.ts';
import type { Submit } from '../contract/execution-store.ts';
import { holdsOf, STATUS_CODES, sagaOf } from '../execution-rows.ts';
import { all, type Script, sql } from './script.ts';

/** Hot verbs do this, too, so each store has its own functions. They run in the transaction of the script. */
export interface Natives {
  /** Ends an execution that is queued or waiting, with all that follows from it. */
  endWaiting(before: ExecutionRecord, end: WaitingEnd): Script<void>;
  /** Whether it is new. */
  submit(request: Submit): Script<boolean>;
  /** free places of a key go to those that wait for one. */
  handOn(places: KeyPlaces): Script<void>;
}

export interface WaitingEnd {
  readonly execution: ExecutionRecord;
  readonly event: HistoryEvent;
  readonly outcome: Payload;
  readonly deadLetter?: DeadLetter;
}

export interface KeyPlaces {
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
         has_place   = :hasPlace,
         ready_at    = :readyAt,
         session_id  = :session,
         seq         = :seq,
         news        = :news,
         wake_after  = :wakeAfter,
         ended_at    = :endedAt,
         key         = :key,
         intent      = :intent,
         progress    = :progress,
         previous    = coalesce(:previous, previous),
         saga        = :saga,
         deadline_at = :deadlineAt
   where id = :id`);

/** The row must be locked. */
export function* saveExecution(execution: ExecutionRecord, previous?: number): Script<void> {
  const status = STATUS_CODES[execution.status];
  const codes = { status, hold: holdsOf(execution), saga: sagaOf(execution), previous };
  yield* all(SAVE, { ...execution, ...codes });
}

const POST = sql(`
  insert into hf.inbox (execution_id, n, at, kind, name, body)
  values (:id, :n, :at, :kind, :name, :body)`);

/** With the row saved with the news that the message counts. */
export function* postMessage(id: ExecutionId, message: InboxMessage): Script<void> {
  yield* all(POST, { id, ...message });
}

// The next heartbeat makes the holder look. PostgreSQL: owners' locks do not wait for this one.
const NOTICE = sql('update hf.session set notices = notices + 1 where id = :session');

// Indexes that are not written to cost SQLite nothing, so these name only what an arrival changes.
const COUNT = sql('update hf.execution set news = :news where id = :id');

const WAKE = sql(`
  update hf.execution
     set news       = :news,
         status     = :status,
         ready_at   = :readyAt,
         wake_after = :wakeAfter
   where id = :id`);

/** The row must be locked; `before` is what it was. */
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
