// What it costs to hold many leases in one session: memory in this process, and whether anything
// becomes slower with their number. Nothing may, the heartbeat least of all (S-1).

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

/** More is not faster on any store, and all at once would only measure the queue. */
const IN_FLIGHT = 64;

/** The same operation in a session that carries one lease and in one that carries `HELD`. */
export interface Growth {
  readonly operation: string;
  readonly withOne: readonly Round[];
  readonly withMany: readonly Round[];
}

export interface HeldCost {
  readonly bytesPerHandle: number;
  readonly growth: readonly Growth[];
}

/** The heap is measured on the way down: on the way up, what loading left behind goes as well. */
export async function measureHandles(store: KernelStore, pace: Pace): Promise<HeldCost> {
  const few = await openBenchSession(store);
  let many: Session | undefined = await openBenchSession(store);
  await hold(few, 1);
  await hold(many, HELD);
  const growth = await measureGrowth(few, many, pace);
  const holding = await heapBytes();
  await many.close();
  // Nothing may refer to the session any more, or its handles stay.
  many = undefined;
  const bytesPerHandle = (holding - (await heapBytes())) / HELD;
  await few.close();
  return { bytesPerHandle, growth };
}

export const OPERATIONS: Readonly<Record<string, (session: Session) => Operation>> = {
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
};

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

async function hold(session: Session, leases: number): Promise<void> {
  await inTurns(leases, async () => {
    expected(await session.acquire(newKey()), 'acquired');
  });
}

/** What the store itself keeps in this process. */
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

/** What is in use after full collections, repeated until another one frees nothing. */
async function heapBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('This Node cannot be told to collect.');
  let least = Number.POSITIVE_INFINITY;
  for (let vain = 0; vain < 3; ) {
    // What a turn of the event loop lets go, and code that has not run for some collections.
    await turnOfTheLoop();
    collect();
    const used = process.memoryUsage().heapUsed;
    vain = used < least * 0.999 ? 0 : vain + 1;
    least = Math.min(least, used);
  }
  return least;
}
