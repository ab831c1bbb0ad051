import type { KernelStore, SaveCheckpoint } from '../../src/lease/port.ts';
import { digestOf } from '../../src/support/digest.ts';
import { randomPayload } from '../floor.ts';
import {
  entryOf,
  expected,
  type LeaseCase,
  newAttempt,
  newKey,
  openBenchSession,
  openPortSession,
  type Prepare,
} from './lease-case.ts';

export const CHECKPOINT_CASES: readonly LeaseCase[] = [
  checkpointCase('checkpoint, 200 B', 200),
  checkpointCase('checkpoint, 16 kB', 16_384),
];

function checkpointCase(name: string, bytes: number): LeaseCase {
  return { name, commits: 1, bytes, port: viaPort(bytes), handle: viaHandle(bytes) };
}

function viaPort(size: number): Prepare {
  return async (store, inFlight) => {
    const session = await openPortSession(store);
    const bytes = randomPayload(size);
    const digest = digestOf(bytes);
    const leases: SaveCheckpoint[] = await Promise.all(
      Array.from({ length: inFlight }, async () => {
        const term = { key: newKey(), session: session.id };
        return { ...term, fence: await acquired(store, term), seq: 0, bytes, digest };
      }),
    );
    return {
      operation: async (worker) => {
        const last = entryOf(leases, worker);
        const next = { ...last, seq: last.seq + 1 };
        leases[worker] = next;
        expected(await store.leases.checkpoint(next), 'saved');
      },
      close: session.close,
    };
  };
}

async function acquired(
  store: KernelStore,
  term: Pick<SaveCheckpoint, 'key' | 'session'>,
): Promise<SaveCheckpoint['fence']> {
  const outcome = await store.leases.acquire({ ...term, attempt: newAttempt() });
  return expected(outcome, 'granted').fence;
}

/** Unlike the port, the handle also hashes the bytes each time. */
function viaHandle(size: number): Prepare {
  return async (store, inFlight) => {
    const session = await openBenchSession(store);
    const bytes = randomPayload(size);
    const leases = await Promise.all(
      Array.from({ length: inFlight }, async () => {
        return expected(await session.acquire(newKey()), 'acquired').lease;
      }),
    );
    return {
      operation: async (worker) => {
        expected(await entryOf(leases, worker).checkpoint(bytes), 'saved');
      },
      close: () => session.close(),
    };
  };
}
