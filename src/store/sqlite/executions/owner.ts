// The parts that all verbs of owners share: the guarded append, and the additional contents of a
// write.

import { decideRecord, type OwnerView } from '../../../execution/decide/owner.ts';
import { type ExecutionRecord, isTerminal } from '../../../execution/execution.ts';
import { EVENT_KINDS, type HistoryEventKind, type NewEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { OwnerRefusal, UnreadRefusal } from '../../../execution/refusal.ts';
import type { OpenAwait } from '../../../features/awaits/model.ts';
import type { SessionId } from '../../../lease/names.ts';
import { assert } from '../../../support/assert.ts';
import type { Attachment, OwnerWrite, Recorded } from '../../contract/execution-store.ts';
import { type HistoryRow, toHistoryEvent } from '../../execution-rows.ts';
import { openAwaits } from '../../sql/awaits.ts';
import { keepHeartbeats } from '../../sql/changes.ts';
import { replaceAttributes } from '../../sql/labels.ts';
import { type KnownTail, positional } from '../connection.ts';
import { play } from '../gateway.ts';
import { loadChain, loadMeta } from '../load-view.ts';
import type { Transaction } from '../transaction.ts';
import { loadExecution } from './load-execution.ts';
import { insertChildren } from './submit.ts';

// The guard of owners. The transaction computes `:open` for the session and its ancestors,
// once per session and flush, because checking it in SQL costs more than the append. Fences are
// unique and only running executions have a session, so with a known row the id needs no check.
export const OWNED = `
     and fence = :fence           -- guard: fence
     and session_id = :session    -- guard: session
     and :open                    -- guard: ended`;

// If another event has this seq, nothing is appended. This uses `or ignore`, because for
// `on conflict` SQLite first copies every page. The result contains the inbox count, so the guard
// compares it: reading it in the same statement would cost a tenth more.
const APPEND_OWNED = ofKinds((kind) =>
  positional(
    'seq now name body rowId fence session open inboxCount',
    `
  insert or ignore into history (row_id, seq, at, fence, kind, name, body)
  select row_id, :seq, :now, fence, '${kind}', :name, :body
    from execution
   where row_id = :rowId
     ${OWNED}
     and news = :inboxCount          -- guard: news`,
  ),
);

// Runs before an append whose preceding event this process does not know, and before the
// user's work. It is not part of APPEND_OWNED: SQLite copies the rows of a statement that
// reads the table it inserts into, which takes twice as long.
const MAY_APPEND = positional(
  'id fence session open seq',
  `
  update execution
     set news = news
   where id = :id
     ${OWNED}
     and exists (select 1 from history as before where before.row_id = execution.row_id and before.seq = :seq - 1)    -- guard: gap
     and not exists (select 1 from history as taken where taken.row_id = execution.row_id and taken.seq = :seq)       -- guard: taken
     and note_row(row_id, news, 0)`,
);

// A write without events has no seq to check.
const MAY_WRITE = positional(
  'id fence session open',
  `
  update execution
     set news = news
   where id = :id
     ${OWNED}
     and note_row(row_id, news, 0)`,
);

const APPEND = ofKinds((kind) =>
  positional(
    'rowId seq now fence name body',
    `
  insert into history (row_id, seq, at, fence, kind, name, body)
  values (:rowId, :seq, :now, :fence, '${kind}', :name, :body)`,
  ),
);

const KEEP_PROGRESS = positional(
  'rowId progress',
  `
  update execution
     set progress = :progress
   where row_id = :rowId`,
);

const ATTACH = positional(
  'id name type now size sealedBy bytes',
  `
  insert into attachment (execution_id, name, type, at, size, sealed_by, bytes, project)
  values (:id, :name, :type, :now, :size, :sealedBy, :bytes, (select project from execution where id = :id))
  on conflict (execution_id, name) do update
     set type = excluded.type,
         at = excluded.at,
         size = excluded.size,
         sealed_by = excluded.sealed_by,
         bytes = excluded.bytes`,
);

/**
 * Prepares one statement per event kind, because binding a text costs as much as binding three
 * numbers.
 */
function ofKinds(sqlOf: (kind: HistoryEventKind) => string): (kind: HistoryEventKind) => string {
  const statements = new Map(EVENT_KINDS.map((kind) => [kind, sqlOf(kind)]));
  return (kind) => {
    const sql = statements.get(kind);
    if (sql === undefined) assert(false, `X-4: ${kind} is not a kind of event`);
    return sql;
  };
}

/**
 * Returns the row if the caller owns the execution and its events come next. If this
 * process appended the previous event, it does not read the row. The guards of the following
 * statement then decide alone.
 */
export function ownedRow(tx: Transaction, request: OwnerWrite): number | undefined {
  const { id, seq, events } = request;
  const tail = tx.connection.tailOf(id);
  if (tail !== undefined && tail.seq === seq - 1 && events.length > 0) return tail.rowId;
  return mayWrite(tx, request) ? tx.found.rowId : undefined;
}

function mayWrite(tx: Transaction, request: OwnerWrite): boolean {
  if (request.events.length > 0) return mayAppend(tx, request);
  const { id, fence, session } = request;
  return tx.statement(MAY_WRITE).run(id, fence, session, isOpen(tx, session)).changes === 1;
}

/** Returns true if the owner may append at this seq. */
export function mayAppend(tx: Transaction, request: Omit<OwnerWrite, 'events'>): boolean {
  const { id, seq, fence, session } = request;
  return tx.statement(MAY_APPEND).run(id, fence, session, isOpen(tx, session), seq).changes === 1;
}

/** SQLite has no booleans. */
export function isOpen(tx: Transaction, session: SessionId): 0 | 1 {
  return tx.isOpen(session) ? 1 : 0;
}

/**
 * Appends all events, the first one under the guard, without changing the row. Undefined when
 * refused.
 */
export function appendOwned(tx: Transaction, request: OwnerWrite): KnownTail | undefined {
  const { id, seq, events } = request;
  const known = tx.connection.tailOf(id);
  if (known !== undefined && known.seq === seq - 1 && append(tx, request, known)) {
    known.seq += events.length;
    return known;
  }
  if (!mayWrite(tx, request)) return undefined;
  const { rowId, inboxCount } = tx.found;
  const tail = { rowId, inboxCount, seq: seq + events.length - 1 };
  if (events.length === 0) return tail;
  assert(append(tx, request, tail), 'X-1: what an owner may append was not appended');
  tx.connection.keepTail(id, tail);
  return tail;
}

function append(tx: Transaction, request: OwnerWrite, { rowId, inboxCount }: KnownTail): boolean {
  const { seq, fence, session, events } = request;
  const first = events[0];
  if (first === undefined) return false;
  const { kind, name = null, body = null } = first;
  const { changes } = tx
    .statement(APPEND_OWNED(kind))
    .run(seq, tx.now, name, body, rowId, fence, session, isOpen(tx, session), inboxCount);
  if (changes !== 1) return false;
  if (events.length > 1) appendFrom(tx, request, { rowId, index: 1 });
  return true;
}

/**
 * Appends the events from `index` on, after a guarded statement. If another process with the same
 * fence already wrote one, this throws. The flush then runs again without known tails.
 */
export function appendFrom(
  tx: Transaction,
  { seq, fence, events }: OwnerWrite,
  { rowId, index }: { readonly rowId: number; readonly index: number },
): void {
  for (let nth = index; nth < events.length; nth += 1) {
    const { kind, name = null, body = null } = events[nth] as NewEvent;
    tx.statement(APPEND(kind)).run(rowId, seq + nth, tx.now, fence, name, body);
  }
}

/**
 * Writes the other contents of a request. Returns the number of messages that the execution itself
 * got.
 */
export function carry(tx: Transaction, rowId: number, request: OwnerWrite): number {
  const { id, progress, heartbeats, attributes, attachments, children, awaits } = request;
  if (progress !== undefined) tx.statement(KEEP_PROGRESS).run(rowId, progress);
  if (heartbeats !== undefined) play(tx, keepHeartbeats(id, heartbeats));
  if (attributes !== undefined) play(tx, replaceAttributes(ownerOf(tx, id), attributes));
  if (attachments !== undefined) for (const each of attachments) attach(tx, id, each);
  if (children !== undefined && children.length > 0) insertChildren(tx, children);
  return awaits === undefined ? 0 : open(tx, id, awaits);
}

function open(tx: Transaction, id: ExecutionId, awaits: readonly OpenAwait[]): number {
  const execution = ownerOf(tx, id);
  // An ended execution must not have open awaits (W-9).
  if (isTerminal(execution.status)) return 0;
  return play(tx, openAwaits(execution, awaits, tx.now)).inboxCount - execution.inboxCount;
}

function ownerOf(tx: Transaction, id: ExecutionId): ExecutionRecord {
  const execution = loadExecution(tx, id);
  assert(execution !== undefined, 'X-1: an execution whose owner writes is stored');
  return execution;
}

function attach(tx: Transaction, id: string, attachment: Attachment): void {
  const { name, type, bytes, sealed } = attachment;
  const size = sealed?.size ?? bytes.length;
  tx.statement(ATTACH).run(id, name, type, tx.now, size, sealed?.by ?? null, bytes);
}

/**
 * Returns the seq of the last event after this write. A write without events does not contain it.
 */
export function lastSeqAfter(tx: Transaction, { id, seq, events }: OwnerWrite): number {
  return events.length > 0 ? seq + events.length - 1 : lastSeqOf(tx, id);
}

/** Runs after the guarded change of the row. */
export function endClaim(tx: Transaction, rowId: number, request: OwnerWrite): void {
  appendFrom(tx, request, { rowId, index: 0 });
  tx.connection.dropTail(request.id);
  carry(tx, rowId, request);
}

export function record(tx: Transaction, request: OwnerWrite): Recorded {
  const tail = appendOwned(tx, request);
  if (tail !== undefined) {
    const { inboxCount } = tail;
    return {
      kind: 'recorded',
      inboxCount: inboxCount + carry(tx, tail.rowId, request),
      at: tx.now,
    };
  }
  const view = ownerView(tx, request, request.events.length);
  const decision = decideRecord(view, request, tx.now);
  assert(decision.kind !== 'apply', 'X-1: an owner that may record was not let');
  return decision.kind === 'replay'
    ? { kind: 'recorded', inboxCount: decision.execution.inboxCount, at: decision.at }
    : refusedOwner(tx, decision.refusal);
}

// The reads below explain, in the same transaction, why an owner's write changed nothing.

const LAST_SEQ = positional(
  'id',
  `
  select coalesce(max(seq), 0)
    from history
   where row_id = (select row_id from execution where id = :id)`,
);

const STORED = `
  select seq, at, fence, kind, name, body
    from history
   where row_id = (select row_id from execution where id = :id)
     and seq >= :seq
   order by seq
   limit :count`;

export function lastSeqOf(tx: Transaction, id: string): number {
  return tx.arrays<readonly [number]>(LAST_SEQ).get(id)?.[0] ?? 0;
}

/** The view for the decision that explains a refusal. */
export function ownerView(
  tx: Transaction,
  { id, seq }: Pick<OwnerWrite, 'id' | 'seq'>,
  count: number,
): OwnerView {
  const execution = loadExecution(tx, id);
  return {
    execution,
    holder: loadChain(tx, execution?.session),
    lastIssued: loadMeta(tx).fence,
    lastSeq: lastSeqOf(tx, id),
    stored: tx.all<HistoryRow>(STORED, { id, seq, count }).map(toHistoryEvent),
  };
}

/** A fence that the store never issued halts claims and grants. */
export function refusedOwner<Why extends OwnerRefusal | UnreadRefusal>(
  tx: Transaction,
  refusal: Why,
): { readonly kind: 'refused' } & Why {
  if (refusal.why === 'fence-ahead') tx.haltFor(refusal.fence);
  return { kind: 'refused', ...refusal };
}
