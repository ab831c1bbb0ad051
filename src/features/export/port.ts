// The port of exports and imports: reads everything from a sealed SQL store and writes it to an
// empty one (docs/spec/export.md). Rows come in batches, so neither side ever holds all of them.

import type { Instant } from '../../support/clock.ts';
import type { Seal } from './model.ts';
import type { Counters, SqlStore } from './rows.ts';

export type Cell = number | string | null | Uint8Array;

/** Some rows of a table. Every table comes at least once, even if it is empty. */
export interface ExportedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface ExportPort {
  readonly kind: SqlStore;
  /** The names of the applied migrations. */
  readonly schema: readonly string[];
  /** A sealed store opens only through this port (EX-7). */
  readonly seals: SealStore;
  /** The store's time. */
  now(): Promise<Instant>;
  /** Reads everything as of one moment. Only a sealed store can be dumped (EX-5). */
  dump<Result>(visit: (dumped: Dumped) => Promise<Result>): Promise<Result>;
  /** Writes everything in one transaction into an empty store, or nothing (EX-8). */
  load(request: Load): Promise<LoadResult>;
  close(): Promise<void>;
}

export interface Dumped {
  readonly seal: Seal;
  readonly counters: Counters;
  readonly rows: AsyncIterable<ExportedRows>;
}

export interface Load {
  readonly actor: string;
  readonly reason: string;
  readonly counters: Counters;
  /** An error in this iteration undoes the load. */
  readonly rows: AsyncIterable<ExportedRows>;
}

export type LoadResult =
  | { readonly kind: 'loaded'; readonly epoch: number }
  | { readonly kind: 'refused'; readonly why: 'not-empty'; readonly tables: readonly string[] };

// The port of seals: an exported store accepts no more writes (docs/spec/export.md).

export interface SealStore {
  /** From this transaction on, the store refuses every write from every client (EX-1). */
  seal(request: SealRequest): Promise<SealResult>;
  /**
   * Reopens the store after an abandoned export. Raises the epoch by more than an import does
   * (EX-6).
   */
  unseal(request: UnsealRequest): Promise<UnsealResult>;
  read(): Promise<Seal | undefined>;
}

export interface SealRequest {
  readonly id: string;
  readonly actor: string;
  readonly reason: string;
  readonly to: string;
}

/** `already`: this or another request sealed it before; the existing seal stays. */
export type SealResult =
  | { readonly kind: 'sealed'; readonly seal: Seal }
  | { readonly kind: 'already'; readonly seal: Seal };

export interface UnsealRequest {
  readonly actor: string;
  readonly reason: string;
}

export type UnsealResult =
  | { readonly kind: 'unsealed'; readonly epoch: number; readonly was: Seal }
  | { readonly kind: 'refused'; readonly why: 'not-sealed' };
