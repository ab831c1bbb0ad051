// The part of the port that finds rows that break an invariant (Z-1 … Z-24).

import type { Finding, ReconcilePart } from './model.ts';

export interface ReconcileStore {
  /** Checks a page of one part. Makes each provable repair in a transaction of its own. */
  reconcile(request: Reconcile): Promise<Reconciled>;
}

export interface Reconcile {
  readonly part: ReconcilePart;
  /** The end of the previous page. */
  readonly after?: string;
  readonly limit: number;
  /** Reports and changes nothing. */
  readonly dryRun?: boolean;
}

export interface Reconciled {
  readonly found: readonly Finding[];
  /** The start of the next page; absent after the last page. */
  readonly next?: string;
}
