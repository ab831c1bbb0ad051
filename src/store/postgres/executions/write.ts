// An owner's write in its own transaction, for items that a flush did not write or that contain
// more than events. It locks, reads, calls the verb's pure decision and applies it.

import type { OwnerDecision, OwnerView } from '../../../execution/decide/owner.ts';
import { type ExecutionRecord, isTerminal } from '../../../execution/execution.ts';
import type { HistoryEvent } from '../../../execution/history.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { OwnerRefusal, UnreadRefusal } from '../../../execution/refusal.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Attachment, OwnerWrite } from '../../contract/execution-store.ts';
import { type HistoryRow, toExecution, toHistoryEvent } from '../../execution-rows.ts';
import { type SessionRow, toChain } from '../../lease-rows.ts';
import { openAwaits } from '../../sql/awaits.ts';
import { keepHeartbeats, saveExecution } from '../../sql/changes.ts';
import { EXECUTION_COLUMNS, type LockedRow } from '../../sql/executions.ts';
import { replaceAttributes } from '../../sql/labels.ts';
import { POSTGRES } from '../../sql/leases/views.ts';
import { type Attempted, type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { haltIfAhead } from '../recover.ts';
import { insertChildren } from './insert-executions.ts';
import { eventColumns } from './items.ts';
import { aliveOf } from './owner-guards.ts';
import type { Parts } from './parts.ts';

// Locks sessions first, as every write of an owner does. The end of a session waits for this
// transaction.
const LOCK = statement(`
  with ${aliveOf('array[$1::uuid]')}
  select ${EXECUTION_COLUMNS.postgres}, e.early, hf_now() as now
    from hf.execution e
   where e.id = $2
     and (select cardinality(a.ids) >= 0 from alive a)
     for no key update of e`);

// A separate statement sees everything committed before the lock.
const VIEW = statement(`
  select hf_now() as now, ${POSTGRES.lastIssued} as last_issued, ${POSTGRES.chainOf('$2')} as holder,
         coalesce((select h.seq from hf.history h where h.execution_id = $1 order by h.seq desc limit 1), 0) as last_seq,
         (select json_agg(h order by h.seq)
            from (select h.seq, h.at, h.fence, h.kind, h.name, h.body
                    from hf.history h
                   where h.execution_id = $1
                     and h.seq >= $3
                   order by h.seq
                   limit $4) h) as stored`);

interface ViewRow {
  readonly now: number;
  readonly last_issued: number;
  readonly holder: SessionRow[] | null;
  readonly last_seq: number;
  readonly stored: readonly HistoryRow[] | null;
}

export interface LockedView extends OwnerView {
  readonly now: Instant;
  /** An answer arrived before its await opened (W-9). */
  readonly isEarly: boolean;
}

export async function lockForOwner(
  queries: Queries,
  request: Pick<OwnerWrite, 'id' | 'session' | 'seq'>,
  eventCount: number,
): Promise<LockedView> {
  type Row = LockedRow & { readonly early: boolean };
  const [row] = await queries.rows<Row>(LOCK, [request.session, request.id]);
  const values = [request.id, row?.session_id ?? null, request.seq, eventCount];
  const [view] = await queries.rows<ViewRow & object>(VIEW, values);
  return {
    now: (view?.now ?? 0) as Instant,
    execution: row === undefined ? undefined : toExecution(row),
    holder: toChain(view?.holder),
    lastIssued: view?.last_issued ?? 0,
    lastSeq: view?.last_seq ?? 0,
    stored: (view?.stored ?? []).map(toHistoryEvent),
    isEarly: row?.early === true,
  };
}

export interface Change {
  readonly before: ExecutionRecord;
  readonly after: ExecutionRecord;
  readonly now: Instant;
  readonly isEarly: boolean;
}

export interface WriteSpec<Request, Result> {
  decide(
    view: OwnerView,
    request: Request,
    now: Instant,
  ): OwnerDecision | { readonly kind: 'refuse'; readonly refusal: UnreadRefusal };
  resultOf(done: { readonly execution: ExecutionRecord; readonly at: Instant }): Result;
  /** The verb's other writes, in the same transaction. */
  also?(queries: Queries, change: Change): Promise<void>;
  /** The outcome of the claim, if the write ends it. */
  readonly previous?: number;
}

type Refused = { readonly kind: 'refused' } & (OwnerRefusal | UnreadRefusal);

export async function write<Request extends OwnerWrite, Result>(
  parts: Parts,
  request: Request,
  spec: WriteSpec<Request, Result>,
): Promise<Result> {
  const outcome = await parts.database.attempt(async (queries): Promise<Attempted<unknown>> => {
    const view = await lockForOwner(queries, request, request.events.length);
    const { now, isEarly } = view;
    const decision = spec.decide(view, request, now);
    if (decision.kind === 'refuse') {
      return { keep: false, result: { kind: 'refused', ...decision.refusal } };
    }
    const { execution } = decision;
    if (decision.kind === 'replay') {
      return { keep: false, result: spec.resultOf({ execution, at: decision.at }) };
    }
    const before = view.execution as ExecutionRecord;
    if (execution !== before) await play(queries, saveExecution(execution, spec.previous));
    await appendEvents(queries, execution.id, decision.events);
    const changed = await carryOut(queries, { request, execution, now });
    await spec.also?.(queries, { before, after: execution, now, isEarly });
    return { keep: true, result: spec.resultOf({ execution: changed, at: now }) };
  }, parts.boundaries);
  // The write was refused, ended the claim, or left the next seq unknown. Later writes look it up.
  parts.ledger.forget(request);
  const refused = outcome as Refused;
  if (refused.kind === 'refused') await haltIfAhead(parts.database, request.fence, refused);
  return outcome as Result;
}

/**
 * Writes the other contents of a request. Returns the execution afterwards, because an await may
 * already have its answer.
 */
export async function carryOut(
  queries: Queries,
  {
    request,
    execution,
    now,
  }: {
    readonly request: Omit<OwnerWrite, 'events'>;
    readonly execution: ExecutionRecord;
    readonly now: Instant;
  },
): Promise<ExecutionRecord> {
  const { id, heartbeats, attributes, children, attachments, awaits = [] } = request;
  if (heartbeats !== undefined) await play(queries, keepHeartbeats(id, heartbeats));
  if (attributes !== undefined) await play(queries, replaceAttributes(execution, attributes));
  if (children !== undefined) await insertChildren(queries, children);
  if (attachments !== undefined) {
    await saveAttachments(queries, { id, attachments, at: now });
  }
  // An ended execution must not have open awaits.
  if (awaits.length === 0 || isTerminal(execution.status)) return execution;
  return play(queries, openAwaits(execution, awaits, now));
}

const ATTACH = statement(`
  insert into hf.attachment as a (execution_id, at, name, type, size, sealed_by, bytes, project)
  values ($1, $2, $3, $4, $5, $6, $7, (select e.project from hf.execution e where e.id = $1))
      on conflict (execution_id, name) do update
     set at        = excluded.at,
         type      = excluded.type,
         size      = excluded.size,
         sealed_by = excluded.sealed_by,
         bytes     = excluded.bytes`);

/** A new attachment replaces an older one of the same name. */
async function saveAttachments(
  queries: Queries,
  given: {
    readonly id: ExecutionId;
    readonly attachments: readonly Attachment[];
    readonly at: Instant;
  },
): Promise<void> {
  for (const { name, type, bytes, sealed } of given.attachments) {
    const sealing = [sealed?.size ?? bytes.length, sealed?.by ?? null];
    await queries.rows(ATTACH, [given.id, given.at, name, type, ...sealing, Buffer.from(bytes)]);
  }
}

const APPEND = statement(`
  insert into hf.history (execution_id, seq, at, fence, kind, name, body)
  select $1, $2::integer + u.nth - 1, $3, $4, u.kind, u.name, u.body
    from unnest($5::text[], $6::text[], $7::text[]) with ordinality as u(kind, name, body, nth)`);

export async function appendEvents(
  queries: Queries,
  id: ExecutionId,
  events: readonly HistoryEvent[],
): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  await queries.rows(APPEND, [
    id,
    first.seq,
    first.at,
    first.fence ?? null,
    ...eventColumns(events),
  ]);
}
