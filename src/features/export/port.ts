// The port of moves: everything that a sealed SQL store keeps, read out of one and put into another that is
// empty (docs/spec/move.md). Rows come in batches, so that neither side ever has all of them.

import type { Instant } from '../../support/clock.ts';
import type { Seal } from './model.ts';
import type { Counters, SqlStore } from './rows.ts';

export type Cell = number | string | null | Uint8Array;

/** Some rows of a table; every table comes at least once, if only to say that it is empty. */
export interface MovedRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface MoveStore {
  readonly kind: SqlStore;
  /** Migrations that were applied, by name. */
  readonly schema: readonly string[];
  /** A sealed store can be opened for a move, and for nothing else (EX-7). */
  readonly seals: SealStore;
  /** The store's time. */
  now(): Promise<Instant>;
  /** All of it, as of one moment; only what is sealed can be dumped (EX-5). */
  dump<Result>(visit: (dumped: Dumped) => Promise<Result>): Promise<Result>;
  /** All of it in one transaction, into a store that is empty; or nothing (EX-8). */
  load(request: Load): Promise<LoadAnswer>;
  close(): Promise<void>;
}

export interface Dumped {
  readonly seal: Seal;
  readonly counters: Counters;
  readonly rows: AsyncIterable<MovedRows>;
}

export interface Load {
  readonly actor: string;
  readonly reason: string;
  readonly counters: Counters;
  /** What throws here undoes the load. */
  readonly rows: AsyncIterable<MovedRows>;
}

export type LoadAnswer =
  | { readonly kind: 'loaded'; readonly epoch: number }
  | { readonly kind: 'refused'; readonly why: 'not-empty'; readonly tables: readonly string[] };

// The port of seals: a store that was moved elsewhere takes no writes any more (docs/spec/move.md).

export interface SealStore {
  /** EX-1: from this transaction on every write is refused, whoever asks. */
  seal(request: SealRequest): Promise<SealAnswer>;
  /** EX-6: for a move that was given up. Raises the epoch, by more than an import. */
  unseal(request: UnsealRequest): Promise<UnsealAnswer>;
  read(): Promise<Seal | undefined>;
}

export interface SealRequest {
  readonly id: string;
  readonly actor: string;
  readonly reason: string;
  readonly to: string;
}

/** `already`: by this request or another one; the seal that is there stays as it is. */
export type SealAnswer =
  | { readonly kind: 'sealed'; readonly seal: Seal }
  | { readonly kind: 'already'; readonly seal: Seal };

export interface UnsealRequest {
  readonly actor: string;
  readonly reason: string;
}

export type UnsealAnswer =
  | { readonly kind: 'unsealed'; readonly epoch: number; readonly was: Seal }
  | { readonly kind: 'refused'; readonly why: 'not-sealed' };
