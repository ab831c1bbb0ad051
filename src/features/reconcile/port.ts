// The part of the port that looks for rows that cannot be as they are (Z-1 … Z-24).

import type { Finding, ReconcilePart } from './model.ts';

export interface ReconcileStore {
  /** A page of one part: what is broken in it, each repaired in a transaction of its own where that is provable. */
  reconcile(request: Reconcile): Promise<Reconciled>;
}

export interface Reconcile {
  readonly part: ReconcilePart;
  /** Where the page before it ended. */
  readonly after?: string;
  /** So many rows are looked at. */
  readonly limit: number;
  /** Finds, and changes nothing. */
  readonly dryRun?: boolean;
}

export interface Reconciled {
  readonly found: readonly Finding[];
  /** Where to go on; absent after the last page. */
  readonly next?: string;
}
