// A member of a pool. For each of its keys it writes to the oracle when it enters, now and then
// while it works, and when it leaves.

import { setTimeout as pause } from 'node:timers/promises';
import { type Pool, type PoolTerm, pool } from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { OracleClient } from '../../processes/oracle/client.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface Join {
  readonly store: StoreAddress;
  readonly owner: string;
  readonly ttlMs: number;
  readonly keys: readonly string[];
  readonly oraclePort: number;
  /** Keys whose work fails for good. */
  readonly hopeless?: readonly string[];
}

/** Sent with the event `entered`. */
export interface Entered {
  readonly key: string;
  readonly fence: number;
  readonly exit: string;
  /** The fence of the term before this one, and of the checkpoint's writer. */
  readonly fenceBefore: number | undefined;
  readonly checkpointFence: number | undefined;
}

export interface MemberApi {
  join(input: Join): Promise<void>;
  held(input: null): Promise<readonly string[]>;
  dropped(input: null): Promise<readonly string[]>;
  setKeys(keys: readonly string[]): Promise<void>;
  stop(input: null): Promise<void>;
}

const BETWEEN_WRITES_MS = 25;

class Hopeless extends Error {}

let joined: Pool | undefined;

function member(): Pool {
  if (joined === undefined) throw new Error('join first');
  return joined;
}

async function work(term: PoolTerm, join: Join, oracle: OracleClient): Promise<void> {
  const { key, lease, signal } = term;
  if (join.hopeless?.includes(key)) throw new Hopeless(key);
  const { fence, predecessor, restored } = lease;
  const record = (effect: string): Promise<unknown> =>
    oracle.write({ fence, effect: `${key} ${effect}`, who: join.owner });
  const write = async (effect: string): Promise<void> => {
    lease.assertHeld(0);
    await record(effect);
  };
  await write('enter');
  await emit('entered', {
    key,
    fence,
    exit: predecessor.exit,
    fenceBefore: predecessor.fence,
    checkpointFence: restored?.fence,
  } satisfies Entered);
  try {
    while (!signal.aborted) {
      await write('work');
      await pause(BETWEEN_WRITES_MS);
    }
    await lease.checkpoint(`by ${join.owner}`);
  } finally {
    // Also after it has lost the lease: it works no more.
    await record('leave');
  }
}

serveCalls<MemberApi>({
  async join(join) {
    const store = await openStoreAt(join.store);
    const oracle = await OracleClient.connect(join.oraclePort);
    const { owner, ttlMs, keys } = join;
    const isPermanent = (error: unknown): boolean => error instanceof Hopeless;
    joined = pool({ store, owner, ttlMs, keys, name: 'orders', isPermanent }, (term) =>
      work(term, join, oracle),
    );
  },
  held: () => member().held,
  dropped: () => member().dropped,
  setKeys: (keys) => member().setKeys(keys),
  stop: () => member().stop(),
});
