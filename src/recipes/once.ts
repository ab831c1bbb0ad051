// once: runs a function once per key and keeps its result in the checkpoint of the key's lease.
// Later callers, in any process, get the stored result.

import type { HeldLease } from '../lease/held-lease.ts';
import { causeOf } from '../lease/observer.ts';
import { describeRefusal } from '../lease/refusal.ts';
import { InvalidInput } from '../support/fault.ts';
import { rejectUnknownOptions } from '../support/options.ts';
import { checkTerm, TERM_OPTION_NAMES, type Term } from './run-term.ts';
import { type WithLeaseOptions, type WithLeaseOutcome, withLease } from './with-lease.ts';

/** Options of `once`. */
export type OnceOptions = Omit<
  WithLeaseOptions<unknown>,
  'exit' | 'wait' | 'reopen' | 'fromCheckpointBefore' | 'pollMs'
>;

/** A result, and whether it was stored before this call. */
export interface OnceResult<Value> {
  /** The result, as JSON returns it. */
  readonly value: Value;
  /** True if an earlier call has made it; then the function did not run. */
  readonly isStored: boolean;
}

const TYPE = 'holdfast.once';

/**
 * Runs `work` unless an earlier call for this key has completed, and returns the stored result.
 *
 * Callers wait for each other. If the function throws, or its process dies, the next caller runs it
 * again. The result must be a JSON value of at most 256 KiB. Returns outcomes as `withLease` does,
 * and throws the error of the work, or `InvalidInput` if the result cannot be stored.
 *
 * @example
 * import { openSession } from 'holdfast';
 *
 * await using session = await openSession({ store, owner: 'billing@host-3' });
 * const outcome = await once({ session, key: 'invoice/7/number' }, async () => 4711);
 * if (outcome.kind === 'done') console.log(outcome.value.value, outcome.value.isStored);
 */
export async function once<Value>(
  options: OnceOptions,
  work: (term: Term) => Promise<Value>,
): Promise<WithLeaseOutcome<OnceResult<Value>>> {
  rejectUnknownOptions('once', options, NAMES);
  checkTerm('once', options, work);
  return withLease<OnceResult<Value>>(
    { ...options, wait: true, exit: 'finished' },
    async (term): Promise<OnceResult<Value>> => {
      const stored = storedIn<Value>(term.lease);
      if (stored !== undefined) return { ...stored, isStored: true };
      const json = jsonOf(await work(term), term);
      const saved = await term.lease.checkpoint(json, { type: TYPE });
      // All callers get the same value, also for dates and other values that JSON changes.
      if (saved.kind === 'saved') return { ...JSON.parse(json), isStored: false };
      if (saved.kind === 'refused') throw new InvalidInput(unstored(term, describeRefusal(saved)));
      throw saved.kind === 'not-held' ? saved.reason : saved.fault;
    },
  );
}

const NAMES: readonly string[] = [
  ...(['session', 'key', 'timeoutMs', 'signal', 'tenureMsMax', 'authorityMsMin'] as const),
  ...(['clock', 'timers'] as const),
  ...TERM_OPTION_NAMES,
];

function storedIn<Value>({ key, restored }: HeldLease): { readonly value: Value } | undefined {
  if (restored === undefined) return undefined;
  if (restored.type === TYPE) return JSON.parse(Buffer.from(restored.bytes).toString());
  throw new InvalidInput(
    `The checkpoint of "${key}" was not saved by once. Nothing ran. Use a key of its own.`,
  );
}

function jsonOf(value: unknown, term: Term): string {
  try {
    return JSON.stringify({ value });
  } catch (error) {
    throw new InvalidInput(unstored(term, `it is not JSON (${causeOf(error)}).`));
  }
}

function unstored({ lease }: Term, why: string): string {
  return `once: the function ran, but its result for "${lease.key}" was not stored: ${why} The next caller runs it again.`;
}
