// Loads the views that decisions need. If a verb writes, its transaction compares all of them
// again, except those loaded as `seen`.

import type { TermView } from '../../lease/decide/term.ts';
import { epochOf } from '../../lease/fence.ts';
import { dampedForMs } from '../../lease/flap.ts';
import type { Checkpoint, LeaseRecord } from '../../lease/lease.ts';
import type { AttemptId, LeaseKey, Owner, SessionId } from '../../lease/names.ts';
import {
  chainState,
  keepsPlace,
  NOTICES_PER_EPOCH,
  type SessionChain,
} from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import { type Kv, toNumber } from './connection.ts';
import type { Database, Guard, Transaction } from './database.ts';
import type { KeySpace } from './keys.ts';
import {
  type Epoch,
  lastIssuedIn,
  plainSession,
  type StoredCheckpoint,
  type StoredSession,
  type Ticket,
  toEpoch,
  toLease,
  toSession,
  toTicket,
} from './records.ts';

/** Returns the chain, root first. Empty when the session is unknown. */
export async function loadChain(
  tx: Transaction,
  id: SessionId | undefined,
  guard: Guard = 'same-life',
): Promise<readonly StoredSession[]> {
  if (id === undefined) return [];
  const [self] = await loadSessions(tx, [id], guard);
  if (self === undefined || self.path.length === 1) return self === undefined ? [] : [self];
  return [...(await loadSessions(tx, self.path.slice(0, -1), guard)), self];
}

/** Returns the known sessions, in this order. */
async function loadSessions(
  tx: Transaction,
  ids: readonly SessionId[],
  guard: Guard,
): Promise<readonly StoredSession[]> {
  const { keys } = tx;
  await tx.load(
    ids.map((id) => keys.live(id)),
    guard,
  );
  const gone = ids.filter((id) => tx.get(keys.live(id)) === undefined);
  // An end stays while anything refers to it, but a missing end may still be written.
  if (gone.length > 0) {
    await tx.load(
      gone.map((id) => keys.ended(id)),
      guard,
    );
  }
  const kvs = ids.map((id) => tx.get(keys.live(id)) ?? tx.get(keys.ended(id)));
  return kvs.filter((kv) => kv !== undefined).map((kv) => toSession(kv));
}

/** Lists all sessions that have not ended, even if an ancestor has. */
export async function liveSessions(tx: Transaction): Promise<readonly StoredSession[]> {
  return (await tx.list(tx.keys.allLive)).kvs.map((kv) => toSession(kv));
}

/** Cached heartbeats of other sessions may be stale, so the transaction must read them itself. */
export function fetchChain(tx: Transaction, chain: SessionChain): void {
  for (const { id } of chain) tx.fetch(tx.keys.live(id));
}

/** The chain with the values that the transaction read. */
export function fetchedChain(
  chain: SessionChain,
  fetched: ReadonlyMap<string, Kv>,
  keys: KeySpace,
): SessionChain {
  return chain.map((session) => {
    const kv = fetched.get(keys.live(session.id));
    return kv === undefined ? session : { ...toSession(kv), notices: session.notices };
  });
}

/** Adds the number of notices, for replies to the session. */
export async function withNotices(
  tx: Transaction,
  chain: readonly StoredSession[],
): Promise<SessionChain> {
  const self = chain.at(-1);
  if (self === undefined) return chain;
  const key = tx.keys.notices(self.id);
  await tx.load([key, tx.keys.epoch]);
  const now = epochOf(toEpoch(tx.get(tx.keys.epoch)).origin);
  const epochs = (self.endedIn ?? now) - self.openedIn;
  const notices = (toNumber(tx.get(key)) ?? 0) + epochs * NOTICES_PER_EPOCH;
  return [...chain.slice(0, -1), { ...self, notices }].map(plainSession);
}

export async function loadEpoch(tx: Transaction): Promise<Epoch> {
  await tx.load([tx.keys.epoch]);
  return toEpoch(tx.get(tx.keys.epoch));
}

/** The upper bound of issued fences: none has a revision that the store has not reached. */
export function lastIssued(tx: Transaction, epoch: Epoch): number {
  return lastIssuedIn(epoch, tx.revision);
}

/**
 * Loads a lease without the bytes of its checkpoints, its holder's chain and the greatest issued
 * fence.
 */
export async function loadTerm(
  tx: Transaction,
  key: LeaseKey,
  guard: Guard = 'same-life',
): Promise<TermView> {
  const { keys } = tx;
  await tx.load([keys.term(key), keys.lease(key), keys.epoch]);
  const epoch = toEpoch(tx.get(keys.epoch));
  const lease = toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key)));
  const holder = await loadChain(tx, lease?.session, guard);
  return { lease, holder, lastIssued: lastIssued(tx, epoch) };
}

/** Adds the bytes of the checkpoints. */
export async function withBytes(tx: Transaction, lease: LeaseRecord): Promise<LeaseRecord> {
  const { keys } = tx;
  const slots = slotsOf(lease).map((slot) => keys.bytes(lease.key, slot));
  await tx.load(slots, 'seen');
  return filledIn(lease, (slot) => tx.get(keys.bytes(lease.key, slot)));
}

export function slotsOf(lease: LeaseRecord): readonly number[] {
  return [lease.checkpoint, lease.checkpointBefore].flatMap((checkpoint) =>
    checkpoint === undefined ? [] : [(checkpoint as StoredCheckpoint).slot],
  );
}

export function filledIn(
  lease: LeaseRecord,
  bytesIn: (slot: number) => Kv | undefined,
): LeaseRecord {
  const fill = (stored: Checkpoint): Checkpoint => {
    const { slot, ...checkpoint } = stored as StoredCheckpoint;
    const kv = bytesIn(slot);
    if (kv === undefined) {
      throw new StoreCorrupt(`The bytes of a checkpoint of lease "${lease.key}" are missing.`);
    }
    return { ...checkpoint, bytes: Uint8Array.from(kv.value) };
  };
  const { checkpoint, checkpointBefore } = lease;
  return {
    ...lease,
    ...(checkpoint === undefined ? {} : { checkpoint: fill(checkpoint) }),
    ...(checkpointBefore === undefined ? {} : { checkpointBefore: fill(checkpointBefore) }),
  };
}

// The queue of a key. Tickets are keys, ordered by their creation.

export interface WaitQueue {
  /** The ticket of this attempt, if it has one. */
  readonly own: Ticket | undefined;
  /** The number of waiters before it that count, or of all if it has no ticket. */
  readonly ahead: number;
  /** The revision of this view. */
  readonly revision: number;
}

export async function loadQueue(
  database: Database,
  tx: Transaction,
  request: { readonly key: LeaseKey; readonly attempt: AttemptId },
): Promise<WaitQueue> {
  const { key } = request;
  const { tickets, revision } = await loadTickets(tx, key);
  const own = tickets.find(({ attempt }) => attempt === request.attempt);
  const before = tickets.filter(({ place }) => own === undefined || place < own.place);
  const owners = await waitingOwners(tx, before);
  const flaps = owners.map((owner) => tx.keys.flap(key, owner));
  await tx.load(flaps, 'seen');
  // An owner that flap damping keeps from the key does not make others wait (G-4).
  const isDamped = (flap: string): boolean => {
    const until = toNumber(tx.get(flap)) as Instant | undefined;
    return dampedForMs(until, database.policy, tx.now) > 0;
  };
  return { own, ahead: flaps.filter((flap) => !isDamped(flap)).length, revision };
}

export async function countWaiting(tx: Transaction, key: LeaseKey): Promise<number> {
  const { tickets } = await loadTickets(tx, key);
  return (await waitingOwners(tx, tickets)).length;
}

/** Returns the owners of the tickets that count. */
async function waitingOwners(
  tx: Transaction,
  tickets: readonly Ticket[],
): Promise<readonly Owner[]> {
  await tx.load(
    tickets.map(({ session }) => tx.keys.live(session)),
    'seen',
  );
  const owners: Owner[] = [];
  for (const ticket of tickets) {
    const owner = await waitingOwner(tx, ticket);
    if (owner !== undefined) owners.push(owner);
  }
  return owners;
}

async function loadTickets(
  tx: Transaction,
  key: LeaseKey,
): Promise<{ readonly tickets: readonly Ticket[]; readonly revision: number }> {
  const { kvs, revision } = await tx.list(tx.keys.queue(key));
  const tickets = kvs.map(toTicket).sort((a, b) => a.place - b.place);
  return { tickets, revision };
}

/**
 * Returns the owner if the ticket counts: the session sent a heartbeat within its ttl, and the
 * waiter asked recently.
 */
async function waitingOwner(tx: Transaction, ticket: Ticket): Promise<Owner | undefined> {
  // Never use the cache here: a missed heartbeat would make a live session look dead.
  const chain = await loadChain(tx, ticket.session, 'seen');
  const waits = keepsPlace(chain, tx.now) && ticket.expiresAt > tx.now;
  return waits ? chain.at(-1)?.owner : undefined;
}

/** A session that got more time keeps its ticket, because it may count again. */
export async function isOver(tx: Transaction, ticket: Ticket): Promise<boolean> {
  const chain = await loadChain(tx, ticket.session, 'seen');
  return chainState(chain, tx.now) === 'ended' || ticket.expiresAt <= tx.now;
}

/** Returns the end of this owner's penalty on this key. */
export async function loadFlap(
  tx: Transaction,
  key: LeaseKey,
  owner: Owner,
): Promise<Instant | undefined> {
  const flap = tx.keys.flap(key, owner);
  await tx.load([flap], 'unchanged', true);
  return toNumber(tx.get(flap)) as Instant | undefined;
}
