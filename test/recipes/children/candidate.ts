// A candidate of an election. While it leads it writes to the oracle again and again. On a stop it
// takes a while to finish, and only then writes that it left.

import { setTimeout as pause } from 'node:timers/promises';
import { type FaultyStore, faultyStore } from '../../../contract/testing/faulty-store.ts';
import type { KernelStore } from '../../../src/index.ts';
import { type Election, elect, type Term } from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { OracleClient } from '../../processes/oracle/client.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface Stand {
  readonly store: StoreAddress;
  readonly owner: string;
  readonly ttlMs: number;
  readonly graceMs?: number;
  readonly oraclePort: number;
}

/** Sent with the event `leads`. */
export interface Leads {
  readonly fence: number;
  readonly exit: string;
}

export interface CandidateApi {
  stand(input: Stand): Promise<void>;
  state(input: null): Promise<string>;
  stop(input: null): Promise<void>;
  /** How often it has called each verb of the store since it began to stand. */
  calls(input: null): Promise<ReadonlyMap<string, number>>;
}

const BETWEEN_WRITES_MS = 10;
const FINISHING_MS = 100;

let standing: { readonly election: Election; readonly counted: FaultyStore } | undefined;

function candidate(): { readonly election: Election; readonly counted: FaultyStore } {
  if (standing === undefined) throw new Error('stand first');
  return standing;
}

async function lead({ lease, signal }: Term, who: string, oracle: OracleClient): Promise<void> {
  const { fence } = lease;
  const write = async (effect: string): Promise<void> => {
    lease.assertHeld(0);
    await oracle.write({ fence, effect, who });
  };
  await write('enter');
  await emit('leads', { fence, exit: lease.predecessor.exit } satisfies Leads);
  while (!signal.aborted) {
    await write('work');
    await pause(BETWEEN_WRITES_MS);
  }
  await pause(FINISHING_MS);
  await write('leave');
}

serveCalls<CandidateApi>({
  async stand({ store: address, oraclePort, ...session }) {
    const counted = faultyStore((await openStoreAt(address)) as KernelStore);
    const oracle = await OracleClient.connect(oraclePort);
    const options = { ...session, store: counted.store, name: 'scheduler', retryMs: 100 };
    const election = elect(options, (term) => lead(term, session.owner, oracle));
    standing = { election, counted };
  },
  state: () => candidate().election.state,
  stop: () => candidate().election.stop(),
  calls: () => new Map(candidate().counted.calls),
});
