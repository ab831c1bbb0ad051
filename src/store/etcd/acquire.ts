// What a grant looks at, and what it writes.

import {
  type AcquireView,
  answerGrant,
  decideAcquire,
  flapAfterGrant,
  leaseAfterGrant as grantedRecord,
} from '../../lease/decide/acquire.ts';
import { endedLease } from '../../lease/decide/term.ts';
import { endedEvent } from '../../lease/event.ts';
import { isIssuable, toFence } from '../../lease/fence.ts';
import { type LeaseRecord, termEnd } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Acquire, AcquireAnswer, Withdraw, Withdrawn } from '../../lease/port.ts';
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
  loadLine,
  slotsOf,
  type WaitingLine,
  withBytes,
} from './load-view.ts';
import { reclaim } from './reclaim.ts';
import { type Epoch, fenceOf, toEpoch, toLease } from './records.ts';
import { adoptCluster, isSameCluster } from './recover.ts';
import { saveGrant } from './terms.ts';

interface Entry extends AcquireView {
  readonly now: Instant;
  readonly epoch: Epoch;
  readonly line: WaitingLine;
}

/** Nobody stands in line, as long as nobody was ever seen to. */
const NO_LINE: WaitingLine = { own: undefined, ahead: 0, revision: 0 };

/** Everything that decides whether this session may have this key. */
async function loadEntry(database: Database, tx: Transaction, request: Acquire): Promise<Entry> {
  const { keys } = tx;
  const { key } = request;
  const [meta, record] = [
    [keys.epoch, keys.halt, keys.cluster],
    [keys.term(key), keys.lease(key)],
  ];
  // All at once; what each is conditioned on comes with the loads below.
  if (tx.isFresh) await tx.load([...meta, ...record, keys.live(request.session)], 'seen');
  await tx.load(meta);
  await tx.load(record, 'unchanged', true);
  const lease = toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key)));
  const own = await loadChain(tx, request.session);
  const holder = lease?.end === undefined ? await loadChain(tx, lease?.session) : [];
  const line = tx.isFresh ? await loadLine(database, tx, request) : NO_LINE;
  const owner = own.at(-1)?.owner;
  const halted = toNumber(tx.get(keys.halt));
  return {
    own,
    lease,
    holder,
    ahead: line.ahead,
    flapUntil: owner === undefined ? undefined : await loadFlap(tx, key, owner),
    halted: halted === undefined ? undefined : toFence(halted),
    policy: database.policy,
    now: tx.now,
    epoch: toEpoch(tx.get(keys.epoch)),
    line,
  };
}

/** The record of the new term; its fence is known when the transaction is. */
async function grantLease(
  database: Database,
  tx: Transaction,
  asked: { readonly request: Acquire; readonly entry: Entry },
): Promise<LeaseRecord> {
  const { request, entry } = asked;
  const { key } = request;
  const { now, epoch } = entry;
  // A newcomer does not overtake who came into the line meanwhile; who has a place has it.
  if (entry.line.own === undefined) tx.guardNoNewcomer(tx.keys.line(key), entry.line.revision);
  else tx.delete(tx.keys.ticket(key, request.attempt));
  const view = withEndRecorded(database, tx, entry);
  const upcoming = lastIssued(tx, epoch) + 1;
  assert(isIssuable(upcoming), 'T-3: epochs are used up');
  const lease = grantedRecord(view, request, { fence: toFence(upcoming), now });
  // What a deadline of its own leaves the holder is counted from when this was sent.
  if (lease.hardDeadlineAt !== undefined) tx.moveClock();
  await chargeLoser(database, tx, { lease, now });
  saveGrant(tx, { before: view.lease, after: lease, epoch });
  const { rev, session, owner, fence } = lease;
  tx.append({ kind: 'acquired', at: now, key, fence, rev, session, owner }, epoch);
  return lease;
}

/** E-3: an end that nobody has written down gets its event now, as a sweep would have written it. */
function withEndRecorded(database: Database, tx: Transaction, entry: Entry): AcquireView {
  const { lease, holder, now } = entry;
  if (lease === undefined || lease.end !== undefined) return entry;
  const end = termEnd(lease, holder, now);
  if (end === undefined) return entry;
  const ended = endedLease(lease, end, database.policy);
  tx.append(endedEvent(ended, end, now));
  return { ...entry, lease: ended };
}

/** G-4: who lost the term by expiry is charged for it. */
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

/** What a try came to: an answer, or what must be done before the next. */
type Outcome =
  | { readonly kind: 'answered'; readonly answer: AcquireAnswer }
  | { readonly kind: 'granted'; readonly entry: Entry; readonly lease: LeaseRecord }
  | { readonly kind: 'adopt' }
  | { readonly kind: 'reclaim'; readonly sessions: readonly SessionId[]; readonly holder: Holder };

/** one transaction that answers with everything. */
export async function acquire(database: Database, request: Acquire): Promise<AcquireAnswer> {
  let doubt: EntryRefusal | undefined;
  // Who waits has found somebody in the way, and what is remembered is most likely not so.
  let from: 'memory' | 'etcd' = request.wait === true ? 'etcd' : 'memory';
  for (;;) {
    const asked = { request, doubt };
    const { result, revision, fetched } = await database.write(
      (tx) => attempt(database, tx, asked),
      from,
    );
    switch (result.kind) {
      case 'answered':
        return result.answer;
      case 'granted': {
        // The revision of the transaction is the fence, and what it has read is what is handed over.
        const { entry, lease } = result;
        const { keys } = database.connection;
        const fence = fenceOf(entry.epoch, revision);
        database.connection.noteFence(fence);
        const record = filledIn({ ...lease, fence }, (slot) =>
          fetched.get(keys.bytes(lease.key, slot)),
        );
        const own = fetchedChain(entry.own, fetched, keys);
        return { kind: 'granted', replayed: false, ...answerGrant(record, own, entry.now) };
      }
      case 'adopt':
        await adoptCluster(database);
        from = 'etcd';
        break;
      case 'reclaim': {
        const { doubtedForMs } = await reclaim(database, result.sessions);
        // It is overdue, and that is not proved yet: the one thing that may be in the way here alone.
        const holder = { ...result.holder, freeInMs: doubtedForMs };
        doubt = doubtedForMs > 0 ? { why: 'reclaim-paused', key: request.key, holder } : undefined;
      }
    }
  }
}

interface Asked {
  readonly request: Acquire;
  /** Why what is overdue cannot be reclaimed, when that was tried. */
  readonly doubt: EntryRefusal | undefined;
}

async function attempt(database: Database, tx: Transaction, asked: Asked): Promise<Outcome> {
  const { request, doubt } = asked;
  const entry = await loadEntry(database, tx, request);
  const decision = decideAcquire(entry, request, entry.now);
  switch (decision.kind) {
    case 'refuse-session':
      return answered({ kind: 'refused', ...decision.refusal });
    case 'replay': {
      const lease = await withBytes(tx, decision.lease);
      const grant = answerGrant(lease, entry.own, entry.now);
      return answered({ kind: 'granted', replayed: true, ...grant });
    }
    case 'refuse':
      return refuse(database, tx, { request, entry, ...decision });
    case 'reclaim':
      return doubt === undefined
        ? decision
        : refuse(database, tx, { request, entry, refusal: doubt, mayWait: true });
    case 'grant': {
      if (!(await isSameCluster(tx))) return { kind: 'adopt' };
      const lease = await grantLease(database, tx, { request, entry });
      for (const slot of slotsOf(lease)) tx.fetch(tx.keys.bytes(request.key, slot));
      fetchChain(tx, entry.own);
      return { kind: 'granted', entry, lease };
    }
  }
}

function answered(answer: AcquireAnswer): Outcome {
  return { kind: 'answered', answer };
}

interface Refused {
  readonly request: Acquire;
  readonly entry: Entry;
  readonly refusal: EntryRefusal;
  readonly mayWait: boolean;
}

/** who asks to wait gets a place in the line, and by asking again keeps it. */
function refuse(database: Database, tx: Transaction, refused: Refused): Outcome {
  const { request, entry, refusal, mayWait } = refused;
  if (!mayWait || request.wait !== true) return answered({ kind: 'refused', ...refusal });
  const { key, session, attempt: id } = request;
  const { ticketMs } = database.policy;
  const { own, revision } = entry.line;
  // Written only when half of its time is gone, and by whoever the place belongs to.
  if (own === undefined || own.expiresAt < entry.now + ticketMs / 2) {
    const expiresAt = laterBy(entry.now, ticketMs);
    const ticket = { key, session: own?.session ?? session, attempt: id, expiresAt };
    tx.put(tx.keys.ticket(key, id), JSON.stringify(ticket));
    if (own === undefined) tx.guardNoNewcomer(tx.keys.line(key), revision);
  }
  return answered({ kind: 'queued', ahead: entry.ahead, refusal });
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
