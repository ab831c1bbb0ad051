// Converts values of keys to kernel records and back, as JSON. The bytes of checkpoints have their
// own keys. This file also validates stored values: a value that breaks a rule throws StoreCorrupt.

import type { LeaseEvent, NewLeaseEvent } from '../../lease/event.ts';
import { readExit } from '../../lease/exit.ts';
import { type Fence, toFence } from '../../lease/fence.ts';
import type { Checkpoint, Drain, LeaseRecord, Predecessor, TermEnd } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { SessionRecord } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import type { Kv } from './connection.ts';

/** A session as it is stored. Its notices have their own key. */
export interface StoredSession extends SessionRecord {
  /**
   * When a heartbeat or the store set `expiresAt`. The difference is the time that the session was
   * given.
   */
  readonly setAt: Instant;
  /** The epoch in which it opened. Every later epoch counts as notices (T-4). */
  readonly openedIn: number;
  /** The epoch in which it ended. Later epochs do not count. */
  readonly endedIn?: number;
}

/** A checkpoint without its bytes, and their slot. */
export interface StoredCheckpoint extends Checkpoint {
  readonly slot: number;
}

/** The zero point of an epoch's fences. */
export interface Epoch {
  /** The number before the first fence. */
  readonly origin: number;
  /**
   * The revision at which the epoch was written. A grant at revision r has the fence `origin + r −
   * base`.
   */
  readonly base: number;
}

/** Returns the upper bound of fences issued up to this revision. */
export function lastIssuedIn(epoch: Epoch, revision: number): number {
  return epoch.origin + Math.max(0, revision - epoch.base);
}

export interface Ticket {
  readonly key: LeaseKey;
  readonly session: SessionId;
  readonly attempt: string;
  readonly expiresAt: Instant;
  /** The revision at which the ticket was created, which orders the queue. */
  readonly place: number;
}

/** The fields that a grant decides. */
export interface TermFacts
  extends Pick<LeaseRecord, 'session' | 'owner' | 'attempt' | 'grantedAt' | 'predecessor'> {
  readonly hardDeadlineAt?: Instant;
  readonly epoch: Epoch;
}

type LeaseFacts = Pick<
  LeaseRecord,
  'rev' | 'end' | 'lossesSinceCheckpoint' | 'intents' | 'reservation'
> & {
  /** Stored with `by` for the actor. */
  readonly drain?: Omit<Drain, 'actor'> & { readonly by: string };
  readonly checkpoint?: CheckpointFacts;
  readonly checkpointBefore?: CheckpointFacts;
};

type CheckpointFacts = Omit<StoredCheckpoint, 'bytes'>;

export function toSession(kv: Kv): StoredSession {
  const stored = fromJson<StoredSession>(kv);
  const { end } = stored;
  return {
    ...stored,
    notices: 0,
    ...(end === undefined ? {} : { end: { ...end, exit: readExit(end.exit) } }),
  };
}

export function fromSession(session: StoredSession): string {
  const { notices: _, ...facts } = session;
  return JSON.stringify(facts);
}

/** Removes the fields that only this store uses. */
export function plainSession(session: SessionRecord): SessionRecord {
  const { setAt: _, openedIn: __, endedIn: ___, ...record } = session as StoredSession;
  return record;
}

/** Combines both keys of a lease. A lease exists only if both do. */
export function toLease(
  key: LeaseKey,
  term: Kv | undefined,
  lease: Kv | undefined,
): LeaseRecord | undefined {
  if (term === undefined && lease === undefined) return undefined;
  if (term === undefined || lease === undefined) {
    throw new StoreCorrupt(
      `The lease "${key}" has only one of its two keys in etcd. Restore the store from a backup.`,
    );
  }
  const { epoch, predecessor, ...granted } = fromJson<TermFacts>(term);
  const { checkpoint, checkpointBefore, drain, end, ...rest } = fromJson<LeaseFacts>(lease);
  return {
    key,
    fence: fenceOf(epoch, term.modRevision),
    ...granted,
    predecessor: { ...predecessor, exit: readExit(predecessor.exit) } satisfies Predecessor,
    ...rest,
    ...(drain === undefined ? {} : { drain: toDrain(drain) }),
    ...(end === undefined ? {} : { end: { ...end, exit: readExit(end.exit) } satisfies TermEnd }),
    ...(checkpoint === undefined ? {} : { checkpoint: withoutBytes(checkpoint) }),
    ...(checkpointBefore === undefined ? {} : { checkpointBefore: withoutBytes(checkpointBefore) }),
  };
}

export function fromTerm(lease: LeaseRecord, epoch: Epoch): string {
  const { session, owner, attempt, grantedAt, hardDeadlineAt, predecessor } = lease;
  const facts = { session, owner, attempt, grantedAt, hardDeadlineAt, predecessor, epoch };
  return JSON.stringify(facts);
}

export function fromLease(lease: LeaseRecord): string {
  const { rev, end, lossesSinceCheckpoint, intents, reservation } = lease;
  const drain = lease.drain && fromDrain(lease.drain);
  const checkpoint = factsOf(lease.checkpoint);
  const checkpointBefore = factsOf(lease.checkpointBefore);
  const facts = { rev, drain, end, lossesSinceCheckpoint, intents, reservation };
  return JSON.stringify({ ...facts, checkpoint, checkpointBefore });
}

function toDrain({ by, ...rest }: NonNullable<LeaseFacts['drain']>): Drain {
  return { ...rest, actor: by };
}

function fromDrain({ actor, ...rest }: Drain): NonNullable<LeaseFacts['drain']> {
  return { ...rest, by: actor };
}

/**
 * The revision of the grant's own transaction. Revisions rise over all keys and never repeat (T-2).
 */
export function fenceOf({ origin, base }: Epoch, revision: number): Fence {
  return toFence(origin + revision - base);
}

export function toEpoch(kv: Kv | undefined): Epoch {
  if (kv === undefined)
    throw new StoreCorrupt(
      'The key of the epoch is missing in etcd. Restore the store from a backup.',
    );
  return { ...fromJson<{ readonly origin: number }>(kv), base: kv.modRevision };
}

export function toTicket(kv: Kv): Ticket {
  return { ...fromJson<Omit<Ticket, 'place'>>(kv), place: kv.createRevision };
}

/** The maximum number of events per transaction: etcd's limit of operations. */
const EVENTS_MAX = 128;

/**
 * An event without its seq and, for a grant, its fence. Both follow from the revision when it is
 * read.
 */
type StoredEvent = NewLeaseEvent & { readonly nth: number; readonly epoch?: Epoch };

export function fromEvent(event: NewLeaseEvent, nth: number, epoch?: Epoch): string {
  return JSON.stringify({ ...event, nth, epoch });
}

export function toEvent(kv: Kv): LeaseEvent {
  const { nth, epoch, ...event } = fromJson<StoredEvent>(kv);
  const seq = kv.modRevision * EVENTS_MAX + nth;
  const fence = epoch === undefined ? {} : { fence: fenceOf(epoch, kv.modRevision) };
  return { seq, ...event, ...fence } as LeaseEvent;
}

/** Returns the revision at which the event with this seq was written. */
export function revisionOf(seq: number): number {
  return Math.floor(seq / EVENTS_MAX);
}

function withoutBytes(facts: CheckpointFacts): StoredCheckpoint {
  return { ...facts, bytes: new Uint8Array() };
}

function factsOf(checkpoint: Checkpoint | undefined): CheckpointFacts | undefined {
  if (checkpoint === undefined) return undefined;
  const { bytes: _, ...facts } = checkpoint as StoredCheckpoint;
  return facts;
}

export function fromJson<Value>(kv: Kv): Value {
  try {
    return JSON.parse(kv.value.toString()) as Value;
  } catch (cause) {
    const shown = kv.value.toString().slice(0, 80);
    throw new StoreCorrupt(`"${kv.key}" is not JSON: ${shown}`, { cause });
  }
}
