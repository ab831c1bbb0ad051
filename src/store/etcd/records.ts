// Values of keys ↔ records of the kernel, as JSON; the bytes of checkpoints have keys of their own. It is
// also the only place that checks what was stored: a value that breaks a rule every writer keeps is a
// StoreCorrupt fault, not a guess.

import type { LeaseEvent, NewLeaseEvent } from '../../lease/event.ts';
import { readExit } from '../../lease/exit.ts';
import { type Fence, toFence } from '../../lease/fence.ts';
import type { Checkpoint, LeaseRecord, Predecessor, TermEnd } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { SessionRecord } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import type { Kv } from './connection.ts';

/** A session as it is stored: its notices are elsewhere. */
export interface StoredSession extends SessionRecord {
  /** When `expiresAt` was set; so long was it given, by a heartbeat or by the store. */
  readonly setAt: Instant;
  /** Every later epoch is a notice to it (T-4). */
  readonly openedIn: number;
  /** Those after its end are none of its business. */
  readonly endedIn?: number;
}

/** A checkpoint without its bytes, and where those are. */
export interface StoredCheckpoint extends Checkpoint {
  readonly slot: number;
}

/** From where the fences of an epoch are counted. */
export interface Epoch {
  /** The number before the first fence. */
  readonly origin: number;
  /** The revision at which it was written. A grant at revision r has the fence `origin + r − base`. */
  readonly base: number;
}

/** No fence above this was issued when the store was at this revision. */
export function lastIssuedIn(epoch: Epoch, revision: number): number {
  return epoch.origin + Math.max(0, revision - epoch.base);
}

export interface Ticket {
  readonly key: LeaseKey;
  readonly session: SessionId;
  readonly attempt: string;
  readonly expiresAt: Instant;
  /** Its place: who was first is first. */
  readonly place: number;
}

/** Everything that a grant decides. */
export interface TermFacts
  extends Pick<LeaseRecord, 'session' | 'owner' | 'attempt' | 'grantedAt' | 'predecessor'> {
  readonly hardDeadlineAt?: Instant;
  readonly epoch: Epoch;
}

type LeaseFacts = Pick<
  LeaseRecord,
  'rev' | 'drain' | 'end' | 'lossesSinceCheckpoint' | 'intents' | 'reservation'
> & { readonly checkpoint?: CheckpointFacts; readonly checkpointBefore?: CheckpointFacts };

type CheckpointFacts = Omit<StoredCheckpoint, 'bytes'>;

export function toSession(kv: Kv, notices = 0): StoredSession {
  const stored = fromJson<StoredSession>(kv);
  const { end } = stored;
  return {
    ...stored,
    notices,
    ...(end === undefined ? {} : { end: { ...end, exit: readExit(end.exit) } }),
  };
}

export function fromSession(session: StoredSession): string {
  const { notices: _, ...facts } = session;
  return JSON.stringify(facts);
}

/** The session as everybody else knows it. */
export function plainSession(session: SessionRecord): SessionRecord {
  const { setAt: _, openedIn: __, endedIn: ___, ...record } = session as StoredSession;
  return record;
}

/** Both keys of a lease; it is there only when both are. */
export function toLease(
  key: LeaseKey,
  term: Kv | undefined,
  lease: Kv | undefined,
): LeaseRecord | undefined {
  if (term === undefined && lease === undefined) return undefined;
  if (term === undefined || lease === undefined) {
    throw new StoreCorrupt(`Of the lease "${key}" only one of two keys is stored.`);
  }
  const { epoch, predecessor, ...granted } = fromJson<TermFacts>(term);
  const { checkpoint, checkpointBefore, end, ...rest } = fromJson<LeaseFacts>(lease);
  return {
    key,
    fence: fenceOf(epoch, term.modRevision),
    ...granted,
    predecessor: { ...predecessor, exit: readExit(predecessor.exit) } satisfies Predecessor,
    ...rest,
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
  const { rev, drain, end, lossesSinceCheckpoint, intents, reservation } = lease;
  const checkpoint = factsOf(lease.checkpoint);
  const checkpointBefore = factsOf(lease.checkpointBefore);
  const facts = { rev, drain, end, lossesSinceCheckpoint, intents, reservation };
  return JSON.stringify({ ...facts, checkpoint, checkpointBefore });
}

/** T-2: the revision of the grant's own transaction, which rises over all keys and is never used again. */
export function fenceOf({ origin, base }: Epoch, revision: number): Fence {
  return toFence(origin + revision - base);
}

export function toEpoch(kv: Kv | undefined): Epoch {
  if (kv === undefined) throw new StoreCorrupt('The key of the epoch is missing.');
  return { ...fromJson<{ readonly origin: number }>(kv), base: kv.modRevision };
}

export function toTicket(kv: Kv): Ticket {
  return { ...fromJson<Omit<Ticket, 'place'>>(kv), place: kv.createRevision };
}

/** How many events one transaction may have: as many as etcd lets it have operations. */
const EVENTS_MAX = 128;

/** What an event carries until it is read, when its revision tells its seq and the fence of a grant. */
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

/** The revision at which the event with this seq was written. */
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
