// The cost of many leases in one session: memory, and operations that become slower. Their number must
// not slow down any operation, above all not the heartbeat (S-1).

import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Session } from '../../src/index.ts';
import type { KernelStore } from '../../src/lease/port.ts';
import { randomPayload } from '../floor.ts';
import { alternate, type Pace, type Round } from '../measure.ts';
import {
  entryOf,
  expected,
  newAttempt,
  newKey,
  openBenchSession,
  openPortSession,
} from './lease-case.ts';

export const HELD = 10_000;

const CHECKPOINT_BYTES = 200;

/** More are not faster on any store. */
const IN_FLIGHT = 64;

/** The same operation in a session with one lease and in one with `HELD` leases. */
export interface Growth {
  readonly operation: string;
  readonly withOne: readonly Round[];
  readonly withMany: readonly Round[];
}

export interface HeldCost {
  readonly bytesPerHandle: number;
  readonly growth: readonly Growth[];
}

/**
 * Measures the heap when the leases go. When they come, collections also free what loading left behind,
 * which would hide part of their size.
 */
export async function measureHandles(store: KernelStore, pace: Pace): Promise<HeldCost> {
  const few = await openBenchSession(store);
  let many: Session | undefined = await openBenchSession(store);
  await hold(few, 1);
  await hold(many, HELD);
  const growth = await measureGrowth(few, many, pace);
  const holding = await heapBytes();
  await many.close();
  // A reference to the session would keep its handles on the heap.
  many = undefined;
  const bytesPerHandle = (holding - (await heapBytes())) / HELD;
  await few.close();
  return { bytesPerHandle, growth };
}

export const OPERATIONS = {
  renew: (session) => async () => {
    expected(await session.heartbeat(), 'alive');
  },
  checkpoint: (session) => {
    const lease = entryOf(session.leases, 0);
    return async () => {
      expected(await lease.checkpoint(randomPayload(CHECKPOINT_BYTES)), 'saved');
    };
  },
  'acquire + release': (session) => async () => {
    const { lease } = expected(await session.acquire(newKey()), 'acquired');
    expected(await lease.release('finished'), 'released');
  },
} satisfies Readonly<Record<string, (session: Session) => Operation>>;

export type Operation = () => Promise<void>;

async function measureGrowth(few: Session, many: Session, pace: Pace): Promise<readonly Growth[]> {
  const growth: Growth[] = [];
  for (const [operation, start] of Object.entries(OPERATIONS)) {
    const contestants = [few, many].map((session) => ({ inFlight: 1, operation: start(session) }));
    const [withOne = [], withMany = []] = await alternate(contestants, pace);
    growth.push({ operation, withOne, withMany });
  }
  return growth;
}

export async function hold(session: Session, leases: number): Promise<void> {
  await inTurns(leases, async () => {
    expected(await session.acquire(newKey()), 'acquired');
  });
}

/** The heap that the store itself needs per lease. */
export async function measureStored(store: KernelStore): Promise<number> {
  const session = await openPortSession(store);
  const before = await heapBytes();
  await inTurns(HELD, async () => {
    const request = { key: newKey(), session: session.id, attempt: newAttempt() };
    expected(await store.leases.acquire(request), 'granted');
  });
  const bytes = ((await heapBytes()) - before) / HELD;
  await session.close();
  return bytes;
}

async function inTurns(times: number, operation: () => Promise<void>): Promise<void> {
  let left = times;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await operation();
    }
  };
  await Promise.all(Array.from({ length: Math.min(times, IN_FLIGHT) }, work));
}

/** The heap in use after full collections, repeated until three in a row free nothing. */
async function heapBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function')
    throw new Error('Not measured: this Node does not expose gc().');
  let least = Number.POSITIVE_INFINITY;
  for (let futile = 0; futile < 3; ) {
    // A turn of the event loop frees more objects, and V8 drops unused code only after some collections.
    await turnOfTheLoop();
    collect();
    const used = process.memoryUsage().heapUsed;
    futile = used < least * 0.999 ? 0 : futile + 1;
    least = Math.min(least, used);
  }
  return least;
}
