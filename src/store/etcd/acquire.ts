// Acquires leases: the view that a grant reads, and the keys that it writes.

import {
  type AcquireView,
  decideAcquire,
  flapAfterGrant,
  leaseAfterGrant as grantedRecord,
  grantResult,
} from '../../lease/decide/acquire.ts';
import { endedLease } from '../../lease/decide/term.ts';
import { endedEvent } from '../../lease/event.ts';
import { isIssuable, toFence } from '../../lease/fence.ts';
import { type LeaseRecord, termEnd } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Acquire, AcquireResult, Withdraw, Withdrawn } from '../../lease/port.ts';
import type { EntryRefusal, Holder } from '../../lease/refusal.ts';
import { assert } from '../../support/assert.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import { toNumber } from './connection.ts';
import type { Database, Transaction } from './database.ts';
import {
  fetchChain,
  fetchedChain,
  filledIn,
  lastIssued,
  loadChain,
  loadFlap,
  loadQueue,
  slotsOf,
  type WaitQueue,
  withBytes,
} from './load-view.ts';
import { reclaim } from './reclaim.ts';
import { type Epoch, fenceOf, toEpoch, toLease } from './records.ts';
import { adoptCluster, isSameCluster } from './recover.ts';
import { saveGrant } from './terms.ts';

interface Entry extends AcquireView {
  readonly now: Instant;
  readonly epoch: Epoch;
  readonly queue: WaitQueue;
}

/** The initial view of a queue: empty until a waiter was seen. */
const NO_QUEUE: WaitQueue = { own: undefined, ahead: 0, revision: 0 };

/** Loads everything that decides if this session may have this key. */
async function loadEntry(database: Database, tx: Transaction, request: Acquire): Promise<Entry> {
  const { keys } = tx;
  const { key } = request;
  const [meta, record] = [
    [keys.epoch, keys.halt, keys.cluster],
    [keys.term(key), keys.lease(key)],
  ];
  // Fetches all keys in one request. The loads below add their guards.
  if (tx.isFresh) await tx.load([...meta, ...record, keys.live(request.session)], 'seen');
  await tx.load(meta);
  await tx.load(record, 'unchanged', true);
  const lease = toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key)));
  const own = await loadChain(tx, request.session);
  const holder = lease?.end === undefined ? await loadChain(tx, lease?.session) : [];
  const queue = tx.isFresh ? await loadQueue(database, tx, request) : NO_QUEUE;
  const owner = own.at(-1)?.owner;
  const halted = toNumber(tx.get(keys.halt));
  return {
    own,
    lease,
    holder,
    ahead: queue.ahead,
    flapUntil: owner === undefined ? undefined : await loadFlap(tx, key, owner),
    halted: halted === undefined ? undefined : toFence(halted),
    policy: database.policy,
    now: tx.now,
    epoch: toEpoch(tx.get(keys.epoch)),
    queue,
  };
}

/** Builds the record of the new term. Its fence is known once the transaction has committed. */
async function grantLease(
  database: Database,
  tx: Transaction,
  parts: { readonly request: Acquire; readonly entry: Entry },
): Promise<LeaseRecord> {
  const { request, entry } = parts;
  const { key } = request;
  const { now, epoch } = entry;
  // A newcomer must not overtake a waiter that joined the queue meanwhile. A waiter with a ticket
  // keeps its position.
  if (entry.queue.own === undefined) tx.guardNoNewcomer(tx.keys.queue(key), entry.queue.revision);
  else tx.delete(tx.keys.ticket(key, request.attempt));
  const view = withEndRecorded(database, tx, entry);
  const upcoming = lastIssued(tx, epoch) + 1;
  assert(isIssuable(upcoming), 'T-3: epochs are used up');
  const lease = grantedRecord(view, request, { fence: toFence(upcoming), now });
  // The holder counts the time to its deadline from the sending of this request.
  if (lease.hardDeadlineAt !== undefined) tx.moveClock();
  await chargeLoser(database, tx, { lease, now });
  saveGrant(tx, { before: view.lease, after: lease, epoch });
  const { rev, session, owner, fence } = lease;
  tx.append({ kind: 'acquired', at: now, key, fence, rev, session, owner }, epoch);
  return lease;
}

/**
 * If the end of the previous term was not recorded, this writes it with its event, as a sweep would
 * (E-3).
 */
function withEndRecorded(database: Database, tx: Transaction, entry: Entry): AcquireView {
  const { lease, holder, now } = entry;
  if (lease === undefined || lease.end !== undefined) return entry;
  const end = termEnd(lease, holder, now);
  if (end === undefined) return entry;
  const ended = endedLease(lease, end, database.policy);
  tx.append(endedEvent(ended, end, now));
  return { ...entry, lease: ended };
}

/** Charges the owner that lost the term by expiry (G-4). */
async function chargeLoser(
  database: Database,
  tx: Transaction,
  granted: { readonly lease: LeaseRecord; readonly now: Instant },
): Promise<void> {
  const { lease, now } = granted;
  const { owner, exit } = lease.predecessor;
  if (owner === undefined || exit !== 'expired') return;
  const { policy } = database;
  const before = await loadFlap(tx, lease.key, owner);
  const until = flapAfterGrant(lease.predecessor, before, { policy, now });
  if (until !== undefined) tx.put(tx.keys.flap(lease.key, owner), String(until));
}

/** The result of one try: a reply, or the work to do before the next. */
type Outcome =
  | { readonly kind: 'answered'; readonly reply: AcquireResult }
  | { readonly kind: 'granted'; readonly entry: Entry; readonly lease: LeaseRecord }
  | { readonly kind: 'adopt' }
  | { readonly kind: 'reclaim'; readonly sessions: readonly SessionId[]; readonly holder: Holder };

/** Acquires in one transaction and returns everything about the term. */
export async function acquire(database: Database, request: Acquire): Promise<AcquireResult> {
  let paused: EntryRefusal | undefined;
  // A waiting caller has already met a holder, so its remembered state is probably stale.
  let from: 'memory' | 'etcd' = request.wait === true ? 'etcd' : 'memory';
  for (;;) {
    const tried = { request, paused };
    const { result, revision, fetched } = await database.write(
      (tx) => attempt(database, tx, tried),
      from,
    );
    switch (result.kind) {
      case 'answered':
        return result.reply;
      case 'granted': {
        // The transaction's revision is the fence, and its reads are handed over to the holder.
        const { entry, lease } = result;
        const { keys } = database.connection;
        const fence = fenceOf(entry.epoch, revision);
        database.connection.noteFence(fence);
        const record = filledIn({ ...lease, fence }, (slot) =>
          fetched.get(keys.bytes(lease.key, slot)),
        );
        const own = fetchedChain(entry.own, fetched, keys);
        return { kind: 'granted', replayed: false, ...grantResult(record, own, entry.now) };
      }
      case 'adopt':
        await adoptCluster(database);
        from = 'etcd';
        break;
      case 'reclaim': {
        const { uncertainForMs } = await reclaim(database, result.sessions);
        // The session is overdue, but that is not proved yet. Only etcd has this obstacle.
        const holder = { ...result.holder, freeInMs: uncertainForMs };
        paused =
          uncertainForMs > 0 ? { why: 'reclaim-paused', key: request.key, holder } : undefined;
      }
    }
  }
}

interface AcquireAttempt {
  readonly request: Acquire;
  /** The reason why a reclaim could not expire overdue sessions, if it was tried. */
  readonly paused: EntryRefusal | undefined;
}

async function attempt(
  database: Database,
  tx: Transaction,
  tried: AcquireAttempt,
): Promise<Outcome> {
  const { request, paused } = tried;
  const entry = await loadEntry(database, tx, request);
  const decision = decideAcquire(entry, request, entry.now);
  switch (decision.kind) {
    case 'refuse-session':
      return replied({ kind: 'refused', ...decision.refusal });
    case 'replay': {
      const lease = await withBytes(tx, decision.lease);
      const grant = grantResult(lease, entry.own, entry.now);
      return replied({ kind: 'granted', replayed: true, ...grant });
    }
    case 'refuse':
      return refuse(database, tx, { request, entry, ...decision });
    case 'reclaim':
      return paused === undefined
        ? decision
        : refuse(database, tx, { request, entry, refusal: paused, mayWait: true });
    case 'grant': {
      if (!(await isSameCluster(tx))) return { kind: 'adopt' };
      const lease = await grantLease(database, tx, { request, entry });
      for (const slot of slotsOf(lease)) tx.fetch(tx.keys.bytes(request.key, slot));
      fetchChain(tx, entry.own);
      return { kind: 'granted', entry, lease };
    }
  }
}

function replied(reply: AcquireResult): Outcome {
  return { kind: 'answered', reply };
}

interface Refused {
  readonly request: Acquire;
  readonly entry: Entry;
  readonly refusal: EntryRefusal;
  readonly mayWait: boolean;
}

/** A caller that asks to wait gets a ticket, and keeps it by asking again. */
function refuse(database: Database, tx: Transaction, refused: Refused): Outcome {
  const { request, entry, refusal, mayWait } = refused;
  if (!mayWait || request.wait !== true) return replied({ kind: 'refused', ...refusal });
  const { key, session, attempt: id } = request;
  const { ticketMs } = database.policy;
  const { own, revision } = entry.queue;
  // The store rewrites a ticket only after half of its time, and keeps its owner.
  if (own === undefined || own.expiresAt < entry.now + ticketMs / 2) {
    const expiresAt = laterBy(entry.now, ticketMs);
    const ticket = { key, session: own?.session ?? session, attempt: id, expiresAt };
    tx.put(tx.keys.ticket(key, id), JSON.stringify(ticket));
    if (own === undefined) tx.guardNoNewcomer(tx.keys.queue(key), revision);
  }
  return replied({ kind: 'queued', ahead: entry.ahead, refusal });
}

export async function withdraw(database: Database, request: Withdraw): Promise<Withdrawn> {
  const { result } = await database.write(async (tx) => {
    const ticket = tx.keys.ticket(request.key, request.attempt);
    await tx.load([ticket]);
    const wasQueued = tx.get(ticket) !== undefined;
    if (wasQueued) tx.delete(ticket);
    return wasQueued;
  }, 'etcd');
  return { kind: 'withdrawn', wasQueued: result };
}
