// The commands of a worker process with one session. Answers are plain data.

import type { DeclaredExit, Exit } from '../../../src/index.ts';
import type { OracleAnswer } from '../oracle/record.ts';
import type { StoreAddress } from '../stage/store-address.ts';

export interface OpenWorker {
  readonly store: StoreAddress;
  readonly owner: string;
  readonly ttlMs: number;
  readonly graceMs?: number;
}

export interface TakeLease {
  readonly key: string;
  readonly wait?: boolean;
}

/** The outcome of an acquire. The fields after `kind` are there if it is `acquired`. */
export interface Taken {
  readonly kind: string;
  readonly fence: number;
  readonly exit: Exit;
  readonly restored: string | undefined;
  readonly intents: readonly string[];
}

/** `why` of a refusal, `by` of a lease that is not held. */
export interface Brief {
  readonly kind: string;
  readonly why?: string;
}

export interface OfKey {
  readonly key: string;
}

export interface WorkerApi {
  open(input: OpenWorker): Promise<void>;
  heartbeat(input: null): Promise<Brief>;
  acquire(input: TakeLease): Promise<Taken>;
  /** Never throws: returns whether `assertHeld` did. */
  assertHeld(input: OfKey): Promise<Brief>;
  /**
   * Emits `spinning`, then stays in one synchronous loop until the file `thawed` exists. Its next
   * call, without a turn of the event loop in between, is `assertHeld`.
   */
  spinUntilThawed(input: OfKey & { readonly thawed: string }): Promise<Brief>;
  checkpoint(input: OfKey & { readonly text: string }): Promise<Brief>;
  intent(input: OfKey & { readonly effect: string }): Promise<Brief>;
  release(input: OfKey & { readonly exit: DeclaredExit }): Promise<Brief>;
  rejoin(input: OfKey): Promise<Brief & { readonly fence?: number }>;
  /** Bypasses the library and its checks, like a process with a bug or without a clock. */
  checkpointAtStore(input: OfKey & { readonly seq: number; readonly text: string }): Promise<Brief>;
  intentAtStore(input: OfKey & { readonly effect: string }): Promise<Brief>;
  releaseAtStore(input: OfKey): Promise<Brief>;
  /** Under the fence of its last term, without asking whether the lease is still held. */
  write(input: OfKey & { readonly port: number; readonly effect: string }): Promise<OracleAnswer>;
  close(input: null): Promise<Brief>;
}
