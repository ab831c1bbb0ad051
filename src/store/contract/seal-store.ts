// The port of seals: a store that was moved elsewhere takes no writes any more (docs/spec/move.md).

import type { Seal } from '../../execution/seal.ts';

export interface SealStore {
  /** M-1: from this transaction on every write is refused, whoever asks. */
  seal(request: SealRequest): Promise<SealAnswer>;
  /** M-6: for a move that was given up. Raises the epoch, by more than an import. */
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
