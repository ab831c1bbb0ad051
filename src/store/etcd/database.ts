// Verbs as transactions. A verb reads what it needs, decides, and names what it writes; what it has
// read is compared with what is there in the transaction that writes. If anything has moved, nothing is
// written and the verb is asked again. So no read is trusted, and most need not be made: what this
// client has seen or written last is good enough to try with.

import type { LeasePolicy } from '../../lease/policy.ts';
import { AssertionFault } from '../../support/assert.ts';
import { StoreCorrupt } from '../../support/fault.ts';
import type { Connection } from './connection.ts';
import { type Committed, Transaction } from './transaction.ts';

export interface Written<Result> extends Committed {
  readonly result: Result;
}

/** Each round that fails follows a change that somebody made; this many in a row is a bug. */
const ROUNDS_MAX = 200;
/** A try that fails brings back what it was wrong about, so that the next from memory may be right. */
const FROM_MEMORY_MAX = 2;

export class Database {
  readonly connection: Connection;
  readonly policy: LeasePolicy;
  /** How far sweeps have looked for leases of sessions that nobody knows. */
  lookedThrough: string | undefined;

  constructor(connection: Connection, policy: LeasePolicy) {
    this.connection = connection;
    this.policy = policy;
  }

  /**
   * Runs the verb until what it has read is still so when it writes, or it has nothing to write. The
   * first try is made from memory, unless it must not be.
   */
  async write<Result>(
    verb: (tx: Transaction) => Promise<Result>,
    from: 'memory' | 'etcd' = 'memory',
  ): Promise<Written<Result>> {
    let isFresh = from === 'etcd';
    for (let round = 1; round <= ROUNDS_MAX; round += 1) {
      isFresh ||= round > FROM_MEMORY_MAX;
      const tx = new Transaction(this.connection, isFresh);
      const tried = await attempt(verb, tx);
      if (tried === undefined) {
        isFresh = true;
        continue;
      }
      const { result } = tried;
      if (tx.hasWrites) {
        const committed = await tx.commit();
        if (committed !== undefined) return { result, ...committed };
      } else {
        if (isFresh) return { result, revision: tx.revision, fetched: new Map() };
        // A no is never said on the strength of what is remembered.
        isFresh = true;
      }
    }
    throw new AssertionFault(`A-1: a transaction was in vain ${ROUNDS_MAX} times`);
  }

  /** Everything that the verb reads, it reads at one revision. */
  async read<Result>(verb: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return verb(new Transaction(this.connection, true));
  }
}

/** Keys that are remembered from different moments may not go together: then nothing can be said. */
async function attempt<Result>(
  verb: (tx: Transaction) => Promise<Result>,
  tx: Transaction,
): Promise<{ readonly result: Result } | undefined> {
  try {
    return { result: await verb(tx) };
  } catch (fault) {
    if (tx.isFresh || !(fault instanceof StoreCorrupt)) throw fault;
    return undefined;
  }
}
