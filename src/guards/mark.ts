// The rules that every guard applies to a fence.
//
// A guard keeps one number per resource, its mark: the highest fence that it was shown. It refuses
// a lower fence. An equal one passes (one term, many writes). A higher one passes and raises the
// mark. A guard validates and never grants: only a higher fence changes a mark, so a replaced
// holder can neither lower nor reset it. A resource without a mark has the mark 0.
//
// The mark must rise when a successor is granted, not at its first write (T-7). So a new holder
// calls `admit` before it reads or writes the resource. From then on, everything that it reads is
// final.

import { type Fence, formatFence, isIssuable, parseFence } from '../lease/fence.ts';
import { parseLeaseKey } from '../lease/names.ts';
import { Fault, InvalidInput, StoreCorrupt } from '../support/fault.ts';
import { shown } from '../support/options.ts';

/** The key of a lease and the fence of a grant. A held lease is one. */
export interface Fenced {
  /** The key of the lease, which names the resource. */
  readonly key: string;
  /** The fence of the grant. */
  readonly fence: Fence;
}

/** The guard refused a fence: a later holder has shown a greater one. Nothing was written. */
export interface Stale {
  /** Always `stale`. */
  readonly kind: 'stale';
  /** The key of the lease. */
  readonly resource: string;
  /** The fence that was shown. */
  readonly presented: Fence;
  /** The greatest fence that the resource was shown. */
  readonly newest: Fence;
}

/** The result of a check: `current`, or a refusal. */
export type GuardResult = { readonly kind: 'current' } | Stale;

export const CURRENT: GuardResult = { kind: 'current' };

/**
 * A later holder was granted the resource. Thrown to leave a transaction, so that it is rolled
 * back.
 */
export class StaleFence extends Fault {
  override readonly name = 'StaleFence';
  /** The refusal. */
  readonly stale: Stale;

  constructor(stale: Stale) {
    super('stale-fence', describeStale(stale));
    this.stale = stale;
  }
}

export function describeStale({ resource, presented, newest }: Stale): string {
  return (
    `Fence ${formatFence(presented)} of "${resource}" is stale: fence ${formatFence(newest)} was ` +
    'granted after it, so another holder owns the resource. Nothing was written. ' +
    'Stop this work; acquire the lease again to continue it.'
  );
}

export function requireCurrent(result: GuardResult): void {
  if (result.kind === 'stale') throw new StaleFence(result);
}

/** Checks the caller's input before anything is sent. */
export function parseFenced(fenced: Fenced): Fenced {
  if (!isObject(fenced) || !('key' in fenced || 'fence' in fenced)) {
    const what = 'A guard needs the key and the fence of a grant';
    refuse(fenced, { what, pass: "a held lease, or { key: 'ledger', fence: lease.fence }" });
  }
  const fence = parseFence(fenced.fence);
  // No later fence could exceed this one, so such a mark would close the resource for good.
  if (!isIssuable(fence)) {
    throw new InvalidInput(
      `Invalid fence ${formatFence(fence)}: no store could have issued it. Pass the fence of a held lease.`,
    );
  }
  return { key: parseLeaseKey(fenced.key), fence };
}

/** `mark` is the higher mark that was found. */
export function staleAt({ key, fence }: Fenced, mark: unknown): Stale {
  return { kind: 'stale', resource: key, presented: fence, newest: parseMark(key, mark) };
}

/** Parses a stored mark: a number, or the decimal digits that drivers return for a bigint. */
export function parseMark(resource: string, value: unknown): Fence {
  try {
    return parseFence(typeof value === 'bigint' ? value.toString() : value);
  } catch (error) {
    throw new StoreCorrupt(
      `The mark of "${resource}" is not a fence: ${shown(value)}. Guards never write that. Nothing was written. ` +
        'Set it to the fence of the held lease, or delete it while no process writes.',
      { cause: error },
    );
  }
}

// Arguments are checked when they are passed. Otherwise a misconfigured guard would fail at its
// first request, with a message that does not name the mistake.

interface Need {
  /** The need and its owner, such as "expressFence: `marks` keeps the highest fence". */
  readonly what: string;
  /** The correct call as code, such as `expressFence({ marks: memoryMarks() })`. */
  readonly pass: string;
}

export function refuse(value: unknown, { what, pass }: Need): never {
  throw new InvalidInput(`${what}; got ${received(value)}. It should be ${pass}.`);
}

export function needFunction(value: unknown, need: Need): void {
  if (typeof value !== 'function') refuse(value, need);
}

/** Checks that a caller's object has the method that the guard will call. */
export function needMethod(value: unknown, method: string, need: Need): void {
  if (!isObject(value) || typeof value[method] !== 'function') refuse(value, need);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Never prints the content of objects: connections contain passwords and cycles. */
function received(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (!isObject(value)) return shown(value);
  if (Array.isArray(value)) return 'an array';
  const maker: unknown = value['constructor'];
  if (typeof maker === 'function' && maker !== Object) return `a ${maker.name}`;
  const names = Object.keys(value).join(', ');
  return names === '' ? '{}' : `{ ${names} }`;
}
