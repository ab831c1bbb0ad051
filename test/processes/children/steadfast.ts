// Holds its own key through every outage of the store: it checkpoints a counter again and again,
// rejoins after a lapse, and reports every answer. Now and then it takes a shared key, to see new
// fences.

import { setTimeout as pause } from 'node:timers/promises';
import type { HeldLease, Session } from '../../../src/index.ts';
import { openSession } from '../../../src/index.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { emit, serveCalls } from './serve-calls.ts';

export interface Steadfast {
  readonly store: StoreAddress;
  readonly key: string;
  readonly ttlMs: number;
}

export type HolderReport =
  | { readonly kind: 'saved'; readonly number: number; readonly fence: number }
  | { readonly kind: 'granted'; readonly fence: number }
  | { readonly kind: 'rejoined'; readonly fence: number }
  | { readonly kind: 'lost'; readonly detail: string };

export interface SteadfastApi {
  /** Returns the fence of its own key, and continues until the process ends. */
  hold(input: Steadfast): Promise<number>;
}

const SHARED_KEY = 'shared';
const BETWEEN_ROUNDS_MS = 5;

async function report(detail: HolderReport): Promise<void> {
  await emit('report', detail);
}

/** The next handle, or undefined after the end of the term. */
async function saveOnce(lease: HeldLease, number: number): Promise<HeldLease | undefined> {
  const answer = await lease.checkpoint(String(number));
  switch (answer.kind) {
    case 'saved':
      await report({ kind: 'saved', number, fence: lease.fence });
      return lease;
    case 'unknown':
    case 'unavailable':
      return lease;
    case 'not-held':
      return rejoined(lease);
    default:
      await report({ kind: 'lost', detail: `checkpoint: ${answer.why}` });
      return undefined;
  }
}

async function rejoined(lease: HeldLease): Promise<HeldLease | undefined> {
  const outcome = await lease.rejoin();
  if (outcome.kind === 'rejoined') {
    await report({ kind: 'rejoined', fence: outcome.lease.fence });
    return outcome.lease;
  }
  // The store was away again before it could answer: ask again.
  if (outcome.kind === 'unknown' || outcome.kind === 'unavailable') return lease;
  // It lapsed once more before it was done, which is not final.
  if (outcome.kind === 'not-held' && outcome.reason.by === 'lapsed') return lease;
  const detail = outcome.kind === 'refused' ? outcome.why : outcome.reason.message;
  await report({ kind: 'lost', detail: `rejoin: ${detail}` });
  return undefined;
}

async function holdOn(first: HeldLease): Promise<void> {
  let lease: HeldLease | undefined = first;
  while (lease !== undefined) {
    const before = Number(Buffer.from(lease.restored?.bytes ?? []).toString());
    lease = await saveOnce(lease, before + 1);
    await pause(BETWEEN_ROUNDS_MS);
  }
}

async function takeShared(session: Session): Promise<void> {
  while (!session.signal.aborted) {
    const outcome = await session.acquire(SHARED_KEY);
    if (outcome.kind === 'acquired') {
      await report({ kind: 'granted', fence: outcome.lease.fence });
      await releaseLease(outcome.lease);
    }
    await pause(BETWEEN_ROUNDS_MS);
  }
}

/** A lapsed holder must rejoin before it releases (L-4): its session still carries the lease. */
async function releaseLease(first: HeldLease): Promise<void> {
  let lease = first;
  for (;;) {
    const released = await lease.release('finished');
    if (released.kind !== 'not-held') return;
    const outcome = await lease.rejoin();
    if (outcome.kind === 'refused' || outcome.kind === 'not-held') return;
    if (outcome.kind === 'rejoined') lease = outcome.lease;
  }
}

serveCalls<SteadfastApi>({
  async hold({ store: address, key, ttlMs }) {
    const store = await openStoreAt(address);
    const session = await openSession({ store, owner: `holder of ${key}`, ttlMs });
    const outcome = await session.acquire(key);
    if (outcome.kind !== 'acquired') throw new Error(`acquire: ${outcome.kind}`);
    void holdOn(outcome.lease);
    void takeShared(session);
    return outcome.lease.fence;
  },
});
