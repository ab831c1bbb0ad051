import { answerGrant, decideAcquire } from '../../lease/decide/acquire.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Acquire, AcquireAnswer, Withdraw, Withdrawn } from '../../lease/port.ts';
import type { EntryRefusal, Holder } from '../../lease/refusal.ts';
import { laterBy } from '../../support/clock.ts';
import { adoptCluster, isSameCluster } from './adopt-cluster.ts';
import type { Database } from './database.ts';
import { type Entry, grantLease, loadEntry } from './grant-lease.ts';
import { fetchChain, fetchedChain, filledIn, slotsOf, withBytes } from './load-view.ts';
import { reclaim } from './reclaim.ts';
import { fenceOf } from './records.ts';
import type { Transaction } from './transaction.ts';

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
