// A description of a store made without opening it: inspecting a store writes nothing and applies
// no migration.

export interface StoreReport {
  readonly kind: 'sqlite' | 'postgres';
  /** The location contains a Holdfast store. */
  readonly exists: boolean;
  /** The names of the migrations that were applied, and of those that this build has. */
  readonly applied: readonly string[];
  readonly known: readonly string[];
  /** Migrations of newer builds that forbid this build to run. */
  readonly forbidding: readonly string[];
  /** Milliseconds by which the store's clock is ahead of the host's. */
  readonly clockAheadMs: number;
  readonly facts: readonly StoreFact[];
}

/** One setting that durability or speed depends on. */
export interface StoreFact {
  readonly name: string;
  readonly found: string;
  /** How to correct the setting, if it is wrong. */
  readonly change?: string;
}
