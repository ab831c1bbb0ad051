// A lease as its holder sees it. `assertHeld` checks authority synchronously; the signal is a
// courtesy for code that waits. Once authority ends, a handle is finished (C-6). `rejoin` returns a
// new handle for the same term, if no successor has taken over.

import type { DeclaredExit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { Checkpoint, Drain, Intent, Predecessor } from './lease.ts';
import type { LeaseKey } from './names.ts';
import type { LeaseNotHeld } from './not-held.ts';
import type { CheckpointResult, IntentBegun, IntentSettled, Released } from './port.ts';
import type { TermRefusal } from './refusal.ts';
import type { StoreOutage } from './store-call.ts';

export type NotHeld = { readonly kind: 'not-held'; readonly reason: LeaseNotHeld };

export interface HeldLease {
  readonly key: LeaseKey;
  /** Put it into every write to a resource that can check it. */
  readonly fence: Fence;
  readonly predecessor: Predecessor;
  /** The last checkpoint saved, by this term or an earlier one. */
  readonly restored: Checkpoint | undefined;
  /** Effects that earlier terms began and did not settle: they may have happened. */
  readonly intents: readonly Intent[];
  readonly lossesSinceCheckpoint: number;
  /** Aborts, with a LeaseNotHeld as its reason, when authority is known to have ended. */
  readonly signal: AbortSignal;
  /** Somebody asks this holder to stop; it may checkpoint and go on until the deadline. */
  readonly drain: Drain | undefined;
  /** Milliseconds of authority left, at most; zero or less when there is none. */
  remainingMs(): number;
  /** Throws LeaseNotHeld unless authority lasts at least `marginMs` longer. Synchronous. */
  assertHeld(marginMs: number): void;
  /** Saves progress. Calls are sent in order; a late one never replaces a newer one (K-2). */
  checkpoint(
    bytes: Uint8Array | string,
    options?: { readonly type?: string },
  ): Promise<CheckpointResult | NotHeld | StoreOutage>;
  /** Before an external effect. Do it only after the answer `begun` (K-6). */
  intent(effect: string, note?: string): Promise<IntentBegun | NotHeld | StoreOutage>;
  /** After the effect, or once it is known what became of it. */
  settle(effect: string): Promise<IntentSettled | NotHeld | StoreOutage>;
  /**
   * Ends the term. Authority ends when this is called, not when it is confirmed (L-5). After a lapse it
   * lets others have the key, as soon as the session is heard of again. When no answer comes, the
   * heartbeat loop tries again for as long as the session lives.
   */
  release(
    exit: DeclaredExit,
    options?: { readonly cause?: string },
  ): Promise<Released | NotHeld | StoreOutage>;
  /** After a lapse: the same term with new authority, if the store still has it so (G-3). */
  rejoin(): Promise<RejoinOutcome>;
  onDrain(listener: (drain: Drain) => void): () => void;
  /**
   * For whoever runs the work: it went on for this long after authority had ended, and has stopped, or
   * has not (`settled` false). Told to the observer.
   */
  reportOverrun(overrunMs: number, settled?: boolean): void;
}

export type RejoinOutcome =
  | { readonly kind: 'rejoined'; readonly lease: HeldLease }
  | ({ readonly kind: 'refused' } & TermRefusal)
  | NotHeld
  | StoreOutage;
