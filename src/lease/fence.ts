// Fences
//
// A fence is the number of one grant: epoch · 2^40 + counter. One sequence per store hands them
// out, so they are ordered over all keys and over all time. An epoch stands for the continuity of
// the store: it rises when the store may have forgotten grants, so that a fence issued after a
// restore is greater than every fence issued before it, known or forgotten.
//
//   T-1  A fence is a branded safe integer; it is made here and nowhere else.
//   T-2  It is minted inside the atomic acquire, after the row is locked. Gaps are harmless.
//   T-3  It is never issued twice.

import { assert, type Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';

export type Fence = Brand<number, 'Fence'>;

export const COUNTERS_PER_EPOCH: number = 2 ** 40;
export const EPOCH_MAX: number = 2 ** 13 - 1;

/** What a new store's sequence starts from: epoch 1, nothing issued yet. */
export const FENCE_ORIGIN: number = COUNTERS_PER_EPOCH;

export function toFence(value: number): Fence {
  // The sentence is made for whom it is for: a number as text costs more than the rest of a claim's record.
  if (!Number.isSafeInteger(value) || value <= 0) {
    assert(false, `T-1: a fence is a safe integer, got ${value}`);
  }
  return value as Fence;
}

/** For fences that come from outside: a message, a header, a person. */
export function parseFence(value: unknown): Fence {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < COUNTERS_PER_EPOCH) {
    throw new InvalidInput(
      `A fence is the whole number that an acquire answered with; got ${shown(value)}.`,
    );
  }
  return number as Fence;
}

export function epochOf(fence: number): number {
  return Math.floor(fence / COUNTERS_PER_EPOCH);
}

export function counterOf(fence: number): number {
  return fence % COUNTERS_PER_EPOCH;
}

/** `7.42`: how a fence is shown to people. */
export function formatFence(fence: Fence): string {
  return `${epochOf(fence)}.${counterOf(fence)}`;
}

/** A fence of the last epoch or beyond cannot be outrun by a new epoch, so no store ever issues one. */
export function isIssuable(fence: number): boolean {
  return epochOf(fence) < EPOCH_MAX;
}

/** EX-6: how far above itself an unsealed store goes on. An import went on one epoch above, and may have risen since. */
export const UNSEALED_EPOCHS = 16;

/** Where the sequence stands after the epoch was raised above everything issued or presented. */
export function raisedOrigin(lastIssued: number, presented: number = 0, by: number = 1): number {
  const epoch = Math.max(epochOf(lastIssued), epochOf(presented)) + by;
  assert(epoch <= EPOCH_MAX, `T-3: epochs are used up (${epoch} of ${EPOCH_MAX})`);
  return epoch * COUNTERS_PER_EPOCH;
}
