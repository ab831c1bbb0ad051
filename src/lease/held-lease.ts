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

/**
 * The handle no longer holds the lease, so nothing was sent. `kind` is `not-held`; `reason` has the
 * cause.
 */
export type NotHeld = { readonly kind: 'not-held'; readonly reason: LeaseNotHeld };

/**
 * A lease that this process holds. `session.acquire` returns it.
 *
 * Its fence orders writes: a successor always has a greater one. Once authority ends, the handle is
 * finished. `assertHeld` then throws, and the other methods return `not-held`.
 *
 * @example
 * const outcome = await session.acquire('reports/daily');
 * if (outcome.kind === 'acquired') {
 *   const { lease } = outcome;
 *   lease.assertHeld(5_000);
 *   await lease.checkpoint(JSON.stringify({ page: 7 }), { type: 'application/json' });
 *   await lease.release('finished');
 * }
 */
export interface HeldLease {
  /** The key. */
  readonly key: LeaseKey;
  /** The number of this grant. Put it into every write to a resource that can check it. */
  readonly fence: Fence;
  /** How the term before this one ended. */
  readonly predecessor: Predecessor;
  /** The last saved checkpoint, of this term or an earlier one; undefined if there is none. */
  readonly restored: Checkpoint | undefined;
  /** Effects that earlier terms began and did not settle. They may have happened. */
  readonly intents: readonly Intent[];
  /** Terms of this key that expired since the last checkpoint. */
  readonly lossesSinceCheckpoint: number;
  /** Aborts when authority has ended. Its reason is a `LeaseNotHeld`. */
  readonly signal: AbortSignal;
  /**
   * A request to stop, if an operator made one. You may checkpoint and continue until its deadline.
   */
  readonly drain: Drain | undefined;
  /** Returns the milliseconds of authority left, at most; zero or less if there is none. */
  remainingMs(): number;
  /**
   * Throws `LeaseNotHeld` unless authority lasts at least `marginMs` more milliseconds.
   * Synchronous.
   *
   * Call it right before an effect that takes at most that long.
   */
  assertHeld(marginMs: number): void;
  /**
   * Saves progress for the successor. Calls are sent in order; a late one never replaces a newer
   * one.
   *
   * `type` describes the bytes, such as a media type. Returns `saved`, a refusal or an outage.
   */
  checkpoint(
    bytes: Uint8Array | string,
    options?: { readonly type?: string },
  ): Promise<CheckpointResult | NotHeld | StoreOutage>;
  /**
   * Records that an external effect is about to happen. Start the effect only after `begun`.
   *
   * @example
   * const begun = await lease.intent('charge:order-17');
   * if (begun.kind === 'begun') {
   *   await charge('order-17', 'key-17');
   *   await lease.settle('charge:order-17');
   * }
   */
  intent(effect: string, note?: string): Promise<IntentBegun | NotHeld | StoreOutage>;
  /** Records that an effect has happened, or that you know what became of it. */
  settle(effect: string): Promise<IntentSettled | NotHeld | StoreOutage>;
  /**
   * Ends the term with this exit. Authority ends at the call, not when the store confirms it.
   *
   * `cause` is for operators. If the store does not respond, the session keeps trying for as long
   * as it lives.
   */
  release(
    exit: DeclaredExit,
    options?: { readonly cause?: string },
  ): Promise<Released | NotHeld | StoreOutage>;
  /** Returns a new handle of the same term after a lapse, if no successor has entered. */
  rejoin(): Promise<RejoinOutcome>;
  /**
   * Calls `listener` when an operator asks this holder to stop. Returns a function that removes the
   * listener.
   */
  onDrain(listener: (drain: Drain) => void): () => void;
  /**
   * Reports to the observer that work continued for `overrunMs` after authority ended. `settled` is
   * false if it still runs (default true).
   */
  reportOverrun(overrunMs: number, settled?: boolean): void;
}

/**
 * The result of `rejoin`.
 *
 * - `rejoined`: `lease` is the new handle of the same term.
 * - `refused`: the term has ended or a successor has entered; `why` is the reason.
 */
export type RejoinOutcome =
  | { readonly kind: 'rejoined'; readonly lease: HeldLease }
  | ({ readonly kind: 'refused' } & TermRefusal)
  | NotHeld
  | StoreOutage;
