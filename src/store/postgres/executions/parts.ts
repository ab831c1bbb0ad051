import type { LeasePolicy } from '../../../lease/policy.ts';
import type { StoreEnvironment } from '../committer.ts';
import type { Committing, Database } from '../database.ts';
import type { ClaimBehind } from './claim-behind.ts';
import type { ClaimFloors } from './claim-floors.ts';
import type { SeqLedger } from './ledger.ts';
import type { OrphanedClaims } from './orphaned-claims.ts';
import type { PostgresWakeups } from './wakeups.ts';

/** The objects that every verb of executions uses. */
export interface Parts {
  readonly database: Database;
  readonly policy: LeasePolicy;
  readonly environment: StoreEnvironment;
  readonly boundaries: Boundaries;
  readonly wakeups: PostgresWakeups;
  readonly ledger: SeqLedger;
  readonly orphanedClaims: OrphanedClaims;
  readonly floors: ClaimFloors;
  readonly claimBehind: ClaimBehind;
}

/**
 * Counts the commits of execution verbs, so that a test can end the process at any of them.
 */
export class Boundaries implements Committing {
  readonly #listener: ((phase: 'before' | 'after', n: number) => void) | undefined;
  #count = 0;

  constructor(listener: ((phase: 'before' | 'after', n: number) => void) | undefined) {
    this.#listener = listener;
  }

  async around<Result>(commit: () => Promise<Result>): Promise<Result> {
    this.#count += 1;
    const n = this.#count;
    this.#listener?.('before', n);
    const result = await commit();
    this.#listener?.('after', n);
    return result;
  }
}
