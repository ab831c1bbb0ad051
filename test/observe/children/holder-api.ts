// The commands of a holder process. Answers are plain data.

export interface HoldKeys {
  readonly storeFile: string;
  readonly log: string;
  readonly ttlMs: number;
  /** One session for each. */
  readonly keys: readonly string[];
}

export interface Stalls {
  readonly forMs: number;
  readonly meanGapMs: number;
  readonly meanStallMs: number;
  readonly seed: number;
}

export interface HolderApi {
  hold(input: HoldKeys): Promise<readonly number[]>;
  checkpoint(input: { readonly text: string }): Promise<number>;
  /** Blocks the event loop again and again. A lost session is opened anew. */
  stall(input: Stalls): Promise<{ readonly lost: number; readonly heldMs: number }>;
  flush(input: null): Promise<void>;
}
