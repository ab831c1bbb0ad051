// What can be said of a store without opening it: nothing is written, nothing is migrated.

export interface StoreReport {
  readonly kind: 'sqlite' | 'postgres';
  /** There is something of ours. */
  readonly exists: boolean;
  /** Migrations, by name: those that were applied, and those that this build has. */
  readonly applied: readonly string[];
  readonly known: readonly string[];
  /** Those of newer builds which say that this one must not run. */
  readonly forbidding: readonly string[];
  /** By how much the store's clock is ahead of the host's. */
  readonly clockAheadMs: number;
  readonly facts: readonly StoreFact[];
}

/** One setting that durability or speed depends on. */
export interface StoreFact {
  readonly name: string;
  readonly found: string;
  /** What to do, when it is not as it should be. */
  readonly change?: string;
}
