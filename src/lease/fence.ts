// Fences
//
// A fence is the number of one grant: epoch · 2^40 + counter. One sequence per store issues them,
// so they are ordered over all keys and all time. The epoch rises when the store may have forgotten
// grants, so a fence issued after a restore is greater than every earlier one.
//
//   T-1  A fence is a branded safe integer; only this file makes one.
//   T-2  The atomic acquire mints it after it has locked the row. Gaps are harmless.
//   T-3  A store never issues a fence twice.

import { assert, type Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';

/**
 * The number of one grant: epoch · 2^40 + counter. A later grant always has a greater fence, across
 * all keys of a store.
 */
export type Fence = Brand<number, 'Fence'>;

export const COUNTERS_PER_EPOCH: number = 2 ** 40;
export const EPOCH_MAX: number = 2 ** 13 - 1;

/** The start of a new store's sequence: epoch 1, nothing issued yet. */
export const FENCE_ORIGIN: number = COUNTERS_PER_EPOCH;

export function toFence(value: number): Fence {
  // Build the message only on failure: formatting a number costs more than the rest of a claim's
  // record.
  if (!Number.isSafeInteger(value) || value <= 0) {
    assert(false, `T-1: a fence is a safe integer, got ${value}`);
  }
  return value as Fence;
}

/**
 * Checks a fence that comes from outside, such as a message or a header. Takes a number or its
 * decimal digits.
 *
 * Throws `InvalidInput` if no store could have issued it.
 *
 * @example
 * const fence = parseFence('1099511627777');
 */
export function parseFence(value: unknown): Fence {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < COUNTERS_PER_EPOCH) {
    throw new InvalidInput(
      `A fence must be the whole number that acquire returned; got ${shown(value)}.`,
    );
  }
  return number as Fence;
}

/**
 * Returns the epoch of a fence.
 *
 * @example
 * const epoch = epochOf(lease.fence);
 */
export function epochOf(fence: number): number {
  return Math.floor(fence / COUNTERS_PER_EPOCH);
}

export function counterOf(fence: number): number {
  return fence % COUNTERS_PER_EPOCH;
}

/**
 * Returns a fence as text for people, epoch and counter: `7.42`.
 *
 * @example
 * console.log(formatFence(lease.fence));
 */
export function formatFence(fence: Fence): string {
  return `${epochOf(fence)}.${counterOf(fence)}`;
}

/** No later epoch could exceed a fence of the last one, so no store issues such a fence. */
export function isIssuable(fence: number): boolean {
  return epochOf(fence) < EPOCH_MAX;
}

/**
 * The number of epochs by which an unsealed store rises. An import rises by one epoch, and may have
 * risen further since (EX-6).
 */
export const UNSEALED_EPOCHS = 16;

/** The start of the sequence after the epoch rose above everything issued or shown. */
export function raisedOrigin(lastIssued: number, presented: number = 0, by: number = 1): number {
  const epoch = Math.max(epochOf(lastIssued), epochOf(presented)) + by;
  assert(epoch <= EPOCH_MAX, `T-3: epochs are used up (${epoch} of ${EPOCH_MAX})`);
  return epoch * COUNTERS_PER_EPOCH;
}
