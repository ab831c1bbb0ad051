// A program of the model test, in words that do not depend on the store. "The newest fence of the
// second key" is a step; the test looks the number up when the step's turn comes. Programs are
// plain data, so that a failing one can be kept as JSON.

import type { DeclaredExit } from '../../src/lease/exit.ts';

/** The index of a key, and of a seat: an owner that opens one session after another. */
export type KeyIndex = number;
export type Seat = number;

export const KEYS = 3;
export const SEATS = 4;

export type FenceChoice =
  | 'newest'
  | 'older'
  | 'of-another-key'
  | 'ancient'
  /** Never issued, in the current epoch. */
  | 'ahead'
  /** Never issued, in a future epoch. */
  | 'far-ahead';

export interface TenancyStep {
  readonly key: KeyIndex;
  readonly fence: FenceChoice;
  /** The session to show. Default: the holder's. */
  readonly as: 'holder' | Seat;
}

export type Step =
  | {
      readonly verb: 'open';
      readonly seat: Seat;
      /** A new session, or the last one again. */
      readonly fresh: 'always' | 'if-dead' | 'never';
      readonly parent?: Seat;
      readonly ttlMs: number;
      readonly graceMs: number;
    }
  /** A heartbeat; or a new session, when the last one is over. */
  | { readonly verb: 'live'; readonly seat: Seat }
  | {
      readonly verb: 'heartbeat';
      readonly seat: Seat;
      readonly asOwnerOf: Seat;
      readonly ttlMs?: number;
    }
  | {
      readonly verb: 'end';
      readonly seat: Seat;
      readonly by: { readonly asOwnerOf: Seat; readonly exit: DeclaredExit } | 'operator';
    }
  | {
      readonly verb: 'acquire';
      readonly seat: Seat;
      readonly key: KeyIndex;
      /** A new one, the last of this seat on this key, or the last of any seat. */
      readonly attempt: 'new' | 'own' | 'last';
      readonly wait?: true;
      readonly reopen?: true;
      readonly fromCheckpointBefore?: true;
      readonly tenureMsMax?: number;
    }
  | { readonly verb: 'withdraw'; readonly seat: Seat; readonly key: KeyIndex }
  | ({
      readonly verb: 'checkpoint';
      readonly seq: 'next' | 'skip' | 'same' | 'lower';
      readonly text: string;
      readonly type?: string;
    } & TenancyStep)
  | ({
      readonly verb: 'beginIntent';
      readonly effect: number;
      readonly note?: string;
    } & TenancyStep)
  | ({ readonly verb: 'settleIntent'; readonly effect: number } & TenancyStep)
  | ({
      readonly verb: 'release';
      readonly exit: DeclaredExit;
      readonly cause?: string;
    } & TenancyStep)
  | {
      readonly verb: 'requestDrain';
      readonly key: KeyIndex;
      readonly fence: FenceChoice;
      readonly request: 'new' | 'last';
      readonly deadlineMs: number;
      readonly successor?: Seat;
    }
  | {
      readonly verb: 'revoke';
      readonly key: KeyIndex;
      readonly fence: FenceChoice;
      readonly request: 'new' | 'last';
    }
  | { readonly verb: 'verify'; readonly key: KeyIndex; readonly fence: FenceChoice }
  | { readonly verb: 'sweep'; readonly limit: number }
  | { readonly verb: 'recover' }
  | { readonly verb: 'raiseEpoch' }
  /** To a moment at which something changes, or just before or after it; or by so much. */
  | { readonly verb: 'advance'; readonly moment: number; readonly offsetMs: -1 | 0 | 1 }
  /** To the expiry of this seat's session. */
  | { readonly verb: 'outlive'; readonly seat: Seat; readonly offsetMs: -1 | 0 | 1 }
  | { readonly verb: 'pass'; readonly ms: number };

/** Steps of one batch are concurrent, from clients that do not know of each other. */
export type Batch = readonly Step[];

export interface Program {
  readonly policy: PolicyName;
  /** More sessions than seats by this number, since the breaker only looks at ten or more. */
  readonly crowd: number;
  readonly batches: readonly Batch[];
}

/**
 * Small enough that programs often reach every bound. But a place in the queue never runs out,
 * since a store may record less often than it is asked that a waiter still waits.
 */
export const POLICIES = {
  tight: {
    ticketMs: 3_600_000,
    ttlMsMin: 100,
    ttlMsMax: 60_000,
    checkpointBytesMax: 8,
    intentsMax: 2,
    sessionDepthMax: 3,
    recoveryGraceMs: 1_500,
    reservationMs: 700,
    flapUnitMs: 20_000,
    breakerWindowMs: 3_000,
    breakerHoldMs: 1_200,
    retentionMs: 20_000,
  },
  loose: {
    ticketMs: 3_600_000,
    flapUnitMs: 0,
    recoveryGraceMs: 4_000,
    retentionMs: 5_000,
    breakerSharePercent: 20,
  },
} as const;

export type PolicyName = keyof typeof POLICIES;
