// Verbs of a holder within its term, and of operators on a term. Each verb loads the term, calls
// the kernel's decision, and writes in one transaction that compares everything it read.

import {
  decideBeginIntent,
  decideCheckpoint,
  decideDrain,
  decideRelease,
  decideRevoke,
  decideSettleIntent,
  decideVerify,
  type TermContext,
  type TermDecision,
  type TermView,
  termResult,
} from '../../lease/decide/term.ts';
import { drainEvent, endedEvent } from '../../lease/event.ts';
import type { Fence } from '../../lease/fence.ts';
import { type LeaseRecord, ownDeadline } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { LeaseStore } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import { toNumber } from './connection.ts';
import type { Database, Guard, Transaction } from './database.ts';
import { loadTerm } from './load-view.ts';
import { type Epoch, fromLease, fromTerm, type StoredCheckpoint } from './records.ts';
import { haltIfAhead } from './recover.ts';
import type { Hints } from './watch.ts';

type TermVerbs = Pick<
  LeaseStore,
  'checkpoint' | 'beginIntent' | 'settleIntent' | 'release' | 'requestDrain' | 'revoke' | 'verify'
>;

export function termsOf(database: Database, hints: Hints): TermVerbs {
  return {
    async checkpoint(request) {
      // Copy the bytes before the first await, so that a caller that changes its array later cannot
      // change the stored value (K-3).
      const own = { ...request, bytes: Uint8Array.from(request.bytes) };
      const { decision } = await change(database, own, {
        decide: decideCheckpoint,
        save(tx, { before, after }) {
          const { lease, slot } = inFreeSlot(after);
          saveLease(tx, before, lease);
          tx.put(tx.keys.bytes(lease.key, slot), own.bytes);
        },
      });
      return termResult(decision, (replayed) => ({ kind: 'saved', replayed }));
    },

    async beginIntent(request) {
      const { decision } = await change(database, request, { decide: decideBeginIntent });
      return termResult(decision, (replayed) => ({ kind: 'begun', replayed }));
    },

    async settleIntent(request) {
      const { decision } = await change(database, request, { decide: decideSettleIntent });
      return termResult(decision, (replayed) => ({ kind: 'settled', wasOpen: !replayed }));
    },

    async release(request) {
      const { decision, isAwaited } = await change(database, request, {
        decide: decideRelease,
        save: saveEnded,
      });
      if (isAwaited) await hints.notify(request.key);
      return termResult(decision, (replayed) => ({ kind: 'released', replayed }));
    },

    async revoke(request) {
      const { decision, isAwaited } = await change(database, request, {
        decide: decideRevoke,
        async save(tx, saved) {
          saveEnded(tx, saved);
          await notify(tx, saved.after.session);
        },
      });
      if (isAwaited) await hints.notify(request.key);
      return termResult(decision, (replayed) => ({ kind: 'revoked', replayed }));
    },

    async requestDrain(request) {
      const { decision, now } = await change(database, request, {
        decide: decideDrain,
        // The drain deadline depends on the expiry of the holder's session, so a concurrent
        // heartbeat makes the verb run again (V-1).
        holder: 'unchanged',
        async save(tx, { before, after }) {
          saveLease(tx, before, after);
          await notify(tx, after.session);
          if (after.drain !== undefined) tx.append(drainEvent(after, after.drain));
        },
      });
      if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
      const deadlineInMs = decision.drain.deadlineAt - now;
      return { kind: 'draining', deadlineInMs, replayed: decision.kind === 'replay' };
    },

    async verify(request) {
      const decision = await database.read(async (tx) =>
        decideVerify(await loadTerm(tx, request.key), request, tx.now),
      );
      if (decision.kind === 'current') return decision;
      await haltIfAhead(database, request.fence, decision.refusal);
      return { kind: 'refused', ...decision.refusal };
    },
  };
}

interface Saved {
  readonly before: LeaseRecord;
  readonly after: LeaseRecord;
}

interface Verb<Request, Decision> {
  decide(view: TermView, request: Request, context: TermContext): Decision;
  /** Writes the lease and related keys. By default only the lease. */
  save?(tx: Transaction, saved: Saved): void | Promise<void>;
  /** The guard for the sessions that carry the lease. */
  readonly holder?: Guard;
}

async function change<
  Request extends { readonly key: LeaseKey; readonly fence: Fence },
  Decision extends TermDecision,
>(
  database: Database,
  request: Request,
  verb: Verb<Request, Decision>,
): Promise<{
  readonly decision: Decision;
  readonly now: Instant;
  /** True if a session waits for the key that became free. */
  readonly isAwaited: boolean;
}> {
  const { policy } = database;
  const { result, fetched } = await database.write(async (tx) => {
    const view = await loadTerm(tx, request.key, verb.holder);
    const { now } = tx;
    const decision = verb.decide(view, request, { policy, now });
    if (decision.kind === 'apply' && view.lease !== undefined) {
      const saved = { before: view.lease, after: decision.lease };
      if (verb.save === undefined) saveLease(tx, saved.before, saved.after);
      else await verb.save(tx, saved);
    }
    return { decision, now };
  });
  const { decision } = result;
  if (decision.kind === 'refuse') await haltIfAhead(database, request.fence, decision.refusal);
  return { ...result, isAwaited: fetched.size > 0 };
}

function saveEnded(tx: Transaction, { before, after }: Saved): void {
  saveLease(tx, before, after);
  if (after.end !== undefined) tx.append(endedEvent(after, after.end, tx.now));
  tx.fetch(tx.keys.queue(after.key));
}

/** Does not overwrite the previous checkpoint, which is kept (K-5). */
function inFreeSlot(lease: LeaseRecord): { readonly lease: LeaseRecord; readonly slot: number } {
  const before = lease.checkpointBefore as StoredCheckpoint | undefined;
  const slot = before?.slot === 0 ? 1 : 0;
  if (lease.checkpoint === undefined) return { lease, slot };
  const checkpoint: StoredCheckpoint = { ...lease.checkpoint, slot };
  return { lease: { ...lease, checkpoint }, slot };
}

/** A lease of this session changed, and its holder must check it (S-2). */
async function notify(tx: Transaction, session: SessionId): Promise<void> {
  const key = tx.keys.notices(session);
  await tx.load([key]);
  tx.put(key, String((toNumber(tx.get(key)) ?? 0) + 1));
}

// Writes a lease: its own keys, and those of the indexes.

/** Writes a change within a term. */
export function saveLease(tx: Transaction, before: LeaseRecord, after: LeaseRecord): void {
  const { keys } = tx;
  tx.put(keys.lease(after.key), fromLease(after));
  moveDeadline(tx, before, after);
  const { end } = after;
  if (end === undefined || before.end !== undefined) return;
  tx.delete(keys.carried(after.session, after.key));
  if (end.exit === 'retired') tx.put(keys.retired(end.at, after.key), '');
}

/** Writes a new term. `before` is the record that it replaces, with its end, if there was one. */
export function saveGrant(
  tx: Transaction,
  grant: {
    readonly before: LeaseRecord | undefined;
    readonly after: LeaseRecord;
    readonly epoch: Epoch;
  },
): void {
  const { before, after, epoch } = grant;
  const { keys } = tx;
  if (before !== undefined) {
    tx.delete(keys.carried(before.session, before.key));
    if (before.end?.exit === 'retired') tx.delete(keys.retired(before.end.at, before.key));
  }
  tx.put(keys.term(after.key), fromTerm(after, epoch));
  tx.put(keys.lease(after.key), fromLease(after));
  tx.put(keys.carried(after.session, after.key), '');
  moveDeadline(tx, before, after);
}

function moveDeadline(tx: Transaction, before: LeaseRecord | undefined, after: LeaseRecord): void {
  const { keys } = tx;
  const old = before === undefined ? undefined : deadlineOf(before);
  const now = deadlineOf(after);
  if (old === now) return;
  if (old !== undefined) tx.delete(keys.deadline(old, after.key));
  if (now !== undefined) tx.put(keys.deadline(now, after.key), '');
}

function deadlineOf(lease: LeaseRecord): Instant | undefined {
  return lease.end === undefined ? ownDeadline(lease) : undefined;
}
