// The port between a worker and what carries its messages to a coordinator.

import type { Bell } from '../../execution/bell.ts';
import type { WorkKind } from './work-messages.ts';

export interface Ask {
  readonly kind: WorkKind;
  readonly body?: object;
  readonly bytes?: Uint8Array;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/**
 * Its bell is absent where workers ask (`waitForBell`).
 * A carrier answers, or throws one of three: StoreUnavailable (known not to have been done), OutcomeUnknown
 * (it may have been), or a Fault with the code of the problem that the coordinator answered with.
 */
export interface Carrier extends Partial<Bell> {
  /** As people are told: `REST`, `gRPC`. */
  readonly name: string;
  /** It delivers some messages twice: what a second one did is nobody's answer. */
  readonly doubles?: boolean;
  ask<Answer>(ask: Ask): Promise<Answer>;
  close(): Promise<void>;
}

/** Without an answer for so long, it is not known what became of it. */
export const ASK_MS = 15_000;
