// Operations on another holder's term. They check the input before sending anything, and are safe
// to repeat with the same request id.

import { integerOption, rejectUnknownOptions, wordsIn } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { parseFence } from './fence.ts';
import { parseLeaseKey, parseOwner, parseRequestId, parseText } from './names.ts';
import type { DrainResult, LeaseService, Revoked } from './port.ts';
import { requireStore } from './session-options.ts';

/** The term to act on, and who acts. */
export interface OperateOptions {
  /** An open store. */
  readonly store: LeaseService;
  /** The key. */
  readonly key: string;
  /** The fence of the term. A later term is left alone. */
  readonly fence: number | string;
  /** The operator, for the record. */
  readonly actor: string;
  /** Why, for the record. */
  readonly reason: string;
  /** A UUID that makes repeats safe. Default: a new one. */
  readonly request?: string;
}

/** Options of `drainLease`. */
export interface DrainOptions extends OperateOptions {
  /**
   * Milliseconds until the store ends the term. The holder always keeps the time that it was
   * promised.
   */
  readonly deadlineMs: number;
  /** The owner who gets the key first when the holder yields. */
  readonly successor?: string;
}

const NAMES: readonly (keyof OperateOptions)[] = wordsIn('store key fence actor reason request');
const DEADLINE_MS_MAX = 31_536_000_000;

/**
 * Asks the holder of a lease to stop by a deadline.
 *
 * Returns `draining`, or a refusal if the term has ended or is draining already. Throws
 * `InvalidInput`, `StoreUnavailable` or `OutcomeUnknown`.
 *
 * @example
 * await drainLease({ store, key: 'reports/daily', fence: lease.fence, actor: 'ada', reason: 'deploy', deadlineMs: 30_000 });
 */
export async function drainLease(options: DrainOptions): Promise<DrainResult> {
  rejectUnknownOptions('drainLease', options, [...NAMES, 'deadlineMs', 'successor']);
  requireStore('drainLease', options.store);
  const { actor, ...term } = checked(options);
  const range = { min: 0, max: DEADLINE_MS_MAX };
  return options.store.leases.requestDrain({
    ...term,
    actor,
    deadlineMs: integerOption('deadlineMs', options.deadlineMs, range),
    ...(options.successor === undefined ? {} : { successor: parseOwner(options.successor) }),
  });
}

/**
 * Ends the term of a lease now. The holder learns of it with its next heartbeat; until then only
 * fences stop its writes.
 *
 * Returns `revoked`, or a refusal if the term is not the newest. Throws `InvalidInput`,
 * `StoreUnavailable` or `OutcomeUnknown`.
 *
 * @example
 * await revokeLease({ store, key: 'reports/daily', fence: lease.fence, actor: 'ada', reason: 'stuck' });
 */
export async function revokeLease(options: OperateOptions): Promise<Revoked> {
  rejectUnknownOptions('revokeLease', options, NAMES);
  requireStore('revokeLease', options.store);
  return options.store.leases.revoke(checked(options));
}

function checked(options: OperateOptions): Parameters<LeaseService['leases']['revoke']>[0] {
  return {
    key: parseLeaseKey(options.key),
    fence: parseFence(options.fence),
    request: parseRequestId(options.request ?? systemRandom.uuid()),
    actor: parseText('actor', options.actor),
    reason: parseText('reason', options.reason),
  };
}
