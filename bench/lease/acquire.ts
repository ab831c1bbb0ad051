import type { LeaseKey } from '../../src/lease/names.ts';
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

/** Returns the next key of a worker. */
type KeyChoice = (inFlight: number) => (worker: number) => LeaseKey;

const freshKeys: KeyChoice = () => newKey;

/** Each worker always takes its own key, so that no worker waits for another. */
const sameKeys: KeyChoice = (inFlight) => {
  const keys = Array.from({ length: inFlight }, newKey);
  return (worker) => entryOf(keys, worker);
};

export const ACQUIRE_CASES: readonly LeaseCase[] = [
  {
    name: 'acquire, fresh key',
    commits: 1,
    bytes: 0,
    port: viaPort(freshKeys, { release: false }),
    handle: viaHandle(freshKeys, { release: false }),
  },
  {
    name: 'acquire + release, fresh key',
    commits: 2,
    bytes: 0,
    port: viaPort(freshKeys, { release: true }),
    handle: viaHandle(freshKeys, { release: true }),
  },
  {
    name: 'acquire + release, same key',
    commits: 2,
    bytes: 0,
    port: viaPort(sameKeys, { release: true }),
    handle: viaHandle(sameKeys, { release: true }),
  },
];

function viaPort(choice: KeyChoice, { release }: { readonly release: boolean }): Prepare {
  return async (store, inFlight) => {
    const session = await openPortSession(store);
    const keyOf = choice(inFlight);
    return {
      operation: async (worker) => {
        const tenure = { key: keyOf(worker), session: session.id };
        const outcome = await store.leases.acquire({ ...tenure, attempt: newAttempt() });
        const { fence } = expected(outcome, 'granted');
        if (!release) return;
        expected(await store.leases.release({ ...tenure, fence, exit: 'finished' }), 'released');
      },
      close: session.close,
    };
  };
}

function viaHandle(choice: KeyChoice, { release }: { readonly release: boolean }): Prepare {
  return async (store, inFlight) => {
    const session = await openBenchSession(store);
    const keyOf = choice(inFlight);
    return {
      operation: async (worker) => {
        const { lease } = expected(await session.acquire(keyOf(worker)), 'acquired');
        if (release) expected(await lease.release('finished'), 'released');
      },
      close: () => session.close(),
    };
  };
}
