// Converts rows of the SQL stores to kernel records and back. Both stores use the same column
// names, so one file serves them. It also validates stored rows: a row that breaks a rule throws
// StoreCorrupt.

import type { Alarm, LeaseEvent, NewLeaseEvent } from '../lease/event.ts';
import { readExit } from '../lease/exit.ts';
import { type Fence, toFence } from '../lease/fence.ts';
import type { Checkpoint, Drain, Intent, LeaseRecord, TermEnd } from '../lease/lease.ts';
import type { AttemptId, LeaseKey, Owner, RequestId, SessionId } from '../lease/names.ts';
import type { SessionChain, SessionEnd, SessionMetadata, SessionRecord } from '../lease/session.ts';
import type { Instant } from '../support/clock.ts';
import { StoreCorrupt } from '../support/fault.ts';

/**
 * Each store configures its driver to return integers as numbers, JSON as text and bytes as bytes.
 */
export interface SessionRow {
  readonly id: string;
  readonly owner: string;
  /** A JSON array of session ids, root first, as text or parsed. */
  readonly path: string | readonly string[];
  readonly ttl_ms: number;
  readonly grace_ms: number;
  /** A JSON object of strings, as text or parsed. A row of a chain has none. */
  readonly metadata?: string | object;
  readonly opened_at: number;
  readonly beat_at: number;
  readonly expires_at: number;
  readonly extended: number | boolean;
  readonly notices: number;
  readonly ended_at: number | null;
  readonly exit: string | null;
  readonly cause: string | null;
  readonly actor: string | null;
}

export interface LeaseRow {
  readonly key: string;
  readonly fence: number;
  readonly session_id: string;
  readonly owner: string;
  readonly attempt_id: string;
  readonly rev: number;
  readonly granted_at: number;
  readonly hard_deadline_at: number | null;
  readonly drain_request_id: string | null;
  readonly drain_by: string | null;
  readonly drain_reason: string | null;
  readonly drain_requested_at: number | null;
  readonly drain_deadline_at: number | null;
  readonly drain_successor: string | null;
  readonly ended_at: number | null;
  readonly exit: string | null;
  readonly cause: string | null;
  readonly actor: string | null;
  readonly end_request_id: string | null;
  readonly prev_exit: string;
  readonly prev_owner: string | null;
  readonly prev_fence: number | null;
  readonly prev_ended_at: number | null;
  readonly prev_cause: string | null;
  readonly prev_actor: string | null;
  readonly checkpoint_seq: number | null;
  readonly checkpoint_bytes: Uint8Array | null;
  readonly checkpoint_digest: string | null;
  readonly checkpoint_fence: number | null;
  readonly checkpoint_at: number | null;
  readonly checkpoint_type: string | null;
  readonly before_seq: number | null;
  readonly before_bytes: Uint8Array | null;
  readonly before_digest: string | null;
  readonly before_fence: number | null;
  readonly before_at: number | null;
  readonly before_type: string | null;
  readonly losses_since_checkpoint: number;
  /** A JSON array of `IntentRow`. */
  readonly intents: string;
  readonly reserved_for: string | null;
  readonly reserved_until: number | null;
}

/** One element of the JSON array `intents`. */
export interface IntentRow {
  readonly effect: string;
  readonly fence: number;
  readonly begun_at: number;
  readonly note?: string | null;
}

export interface EventRow {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly key: string | null;
  readonly fence: number | null;
  readonly rev: number | null;
  readonly session_id: string | null;
  readonly owner: string | null;
  /** A JSON object with the remaining fields of this event kind. */
  readonly detail: string;
}

export function toSession(row: SessionRow): SessionRecord {
  const end: SessionEnd | undefined =
    row.ended_at === null
      ? undefined
      : {
          at: row.ended_at as Instant,
          exit: readExit(row.exit ?? ''),
          ...(row.cause === null ? {} : { cause: row.cause }),
          ...(row.actor === null ? {} : { actor: row.actor }),
        };
  return {
    id: row.id as SessionId,
    owner: row.owner as Owner,
    path: fromJson(row.path, 'session.path'),
    ttlMs: row.ttl_ms,
    graceMs: row.grace_ms,
    metadata: toMetadata(row.metadata),
    openedAt: row.opened_at as Instant,
    beatAt: row.beat_at as Instant,
    expiresAt: row.expires_at as Instant,
    extended: row.extended === true || row.extended === 1,
    notices: row.notices,
    ...(end === undefined ? {} : { end }),
  };
}

export function toMetadata(metadata: SessionRow['metadata']): SessionMetadata {
  return fromJson(metadata ?? {}, 'session.metadata');
}

/** Returns the chain, root first. `rows` are a session and its ancestors, as JSON or parsed. */
export function toChain(rows: string | readonly SessionRow[] | null | undefined): SessionChain {
  const parsed = fromJson<readonly SessionRow[]>(rows ?? [], 'chain of sessions');
  return parsed.map(toSession).sort((a, b) => a.path.length - b.path.length);
}

export function toLease(row: LeaseRow): LeaseRecord {
  const checkpoint = toCheckpoint(row, 'checkpoint');
  const checkpointBefore = toCheckpoint(row, 'before');
  const drain = toDrain(row);
  const end = toEnd(row);
  return {
    key: row.key as LeaseKey,
    fence: toFence(row.fence),
    session: row.session_id as SessionId,
    owner: row.owner as Owner,
    attempt: row.attempt_id as AttemptId,
    rev: row.rev,
    grantedAt: row.granted_at as Instant,
    ...(row.hard_deadline_at === null ? {} : { hardDeadlineAt: row.hard_deadline_at as Instant }),
    ...(drain === undefined ? {} : { drain }),
    ...(end === undefined ? {} : { end }),
    predecessor: toPredecessor(row),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(checkpointBefore === undefined ? {} : { checkpointBefore }),
    lossesSinceCheckpoint: row.losses_since_checkpoint,
    intents: toIntents(row.intents),
    ...(row.reserved_for === null || row.reserved_until === null
      ? {}
      : { reservation: { for: row.reserved_for as Owner, until: row.reserved_until as Instant } }),
  };
}

export function toIntents(json: string): readonly Intent[] {
  return fromJson<readonly IntentRow[]>(json, 'lease.intents').map((intent) => ({
    effect: intent.effect as Intent['effect'],
    fence: toFence(intent.fence),
    begunAt: intent.begun_at as Instant,
    ...(intent.note === undefined || intent.note === null ? {} : { note: intent.note }),
  }));
}

export function toPredecessor(row: LeaseRow): LeaseRecord['predecessor'] {
  return {
    exit: readExit(row.prev_exit),
    ...(row.prev_owner === null ? {} : { owner: row.prev_owner as Owner }),
    ...(row.prev_fence === null ? {} : { fence: toFence(row.prev_fence) }),
    ...(row.prev_ended_at === null ? {} : { endedAt: row.prev_ended_at as Instant }),
    ...(row.prev_cause === null ? {} : { cause: row.prev_cause }),
    ...(row.prev_actor === null ? {} : { actor: row.prev_actor }),
  };
}

export function toCheckpoint(row: LeaseRow, slot: 'checkpoint' | 'before'): Checkpoint | undefined {
  const seq = row[`${slot}_seq`];
  if (seq === null) return undefined;
  const bytes = row[`${slot}_bytes`];
  const digest = row[`${slot}_digest`];
  const fence = row[`${slot}_fence`];
  const at = row[`${slot}_at`];
  const type = row[`${slot}_type`];
  if (bytes === null || digest === null || fence === null || at === null) {
    throw new StoreCorrupt(`The ${slot} checkpoint of lease "${row.key}" is incomplete.`);
  }
  return {
    seq,
    bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    digest,
    fence: toFence(fence),
    at: at as Instant,
    ...(type === null ? {} : { type }),
  };
}

function toDrain(row: LeaseRow): Drain | undefined {
  if (row.drain_request_id === null || row.drain_deadline_at === null) return undefined;
  return {
    request: row.drain_request_id as RequestId,
    actor: row.drain_by ?? '',
    reason: row.drain_reason ?? '',
    requestedAt: (row.drain_requested_at ?? 0) as Instant,
    deadlineAt: row.drain_deadline_at as Instant,
    ...(row.drain_successor === null ? {} : { successor: row.drain_successor as Owner }),
  };
}

function toEnd(row: LeaseRow): TermEnd | undefined {
  if (row.ended_at === null) return undefined;
  return {
    at: row.ended_at as Instant,
    exit: readExit(row.exit ?? ''),
    ...(row.cause === null ? {} : { cause: row.cause }),
    ...(row.actor === null ? {} : { actor: row.actor }),
    ...(row.end_request_id === null ? {} : { request: row.end_request_id as RequestId }),
  };
}

/** Splits an event into its columns. `toEvent` is the inverse. */
export function fromEvent(event: NewLeaseEvent): Omit<EventRow, 'seq'> {
  const { kind, at, ...rest } = event;
  const { key, fence, rev, session, owner, ...detail } = rest as {
    key?: LeaseKey;
    fence?: Fence;
    rev?: number;
    session?: SessionId;
    owner?: Owner;
  };
  return {
    at,
    kind,
    key: key ?? null,
    fence: fence ?? null,
    rev: rev ?? null,
    session_id: session ?? null,
    owner: owner ?? null,
    detail: JSON.stringify(detail),
  };
}

/** The detail column holds exit, cause, actor, alarm and deadlineAt. A null in it means absent. */
export function toEvent(row: EventRow): LeaseEvent {
  const detail = fromJson<EventDetail>(row.detail, 'event.detail');
  const known = {
    ...(row.key === null ? {} : { key: row.key }),
    ...(row.fence === null ? {} : { fence: toFence(row.fence) }),
    ...(row.rev === null ? {} : { rev: row.rev }),
    ...(row.session_id === null ? {} : { session: row.session_id }),
    ...(row.owner === null ? {} : { owner: row.owner }),
  };
  const present = Object.fromEntries(
    Object.entries(detail).filter(([, value]) => value !== null && value !== undefined),
  );
  return { seq: row.seq, at: row.at, kind: row.kind, ...known, ...present } as LeaseEvent;
}

interface EventDetail {
  readonly exit?: string | null;
  readonly cause?: string | null;
  readonly actor?: string | null;
  readonly alarm?: Alarm | null;
  readonly deadlineAt?: number | null;
}

function fromJson<Value>(json: string | object, what: string): Value {
  if (typeof json !== 'string') return json as Value;
  try {
    return JSON.parse(json) as Value;
  } catch (cause) {
    throw new StoreCorrupt(`${what} is not JSON: ${json.slice(0, 80)}`, { cause });
  }
}
