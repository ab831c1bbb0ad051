// Operations on another holder's term. They check the input before sending anything, and are safe
// to repeat with the same request id.

import { integerOption, rejectUnknownOptions } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { parseFence } from './fence.ts';
import { parseLeaseKey, parseOwner, parseRequestId, parseText } from './names.ts';
import type { DrainResult, KernelStore, Revoked } from './port.ts';
import { requireStore } from './session-options.ts';

export interface OperateOptions {
  readonly store: KernelStore;
  readonly key: string;
  /** The term that is meant; a later one is left alone. */
  readonly fence: number | string;
  readonly actor: string;
  readonly reason: string;
  /** A UUID of the caller's, to repeat the act safely. Default: a new one. */
  readonly request?: string;
}

export interface DrainOptions extends OperateOptions {
  /** The holder may go on until then; never less than it was promised already (V-1). */
  readonly deadlineMs: number;
  /** Who gets the key first when the holder yields. */
  readonly successor?: string;
}

const NAMES: readonly (keyof OperateOptions)[] = [
  'store',
  'key',
  'fence',
  'actor',
  'reason',
  'request',
];
const DEADLINE_MS_MAX = 31_536_000_000;

/** Asks the holder to stop by a deadline. */
export async function drainLease(options: DrainOptions): Promise<DrainResult> {
  rejectUnknownOptions('drainLease', options, [...NAMES, 'deadlineMs', 'successor']);
  requireStore('drainLease', options.store);
  const { actor, ...term } = checked(options);
  const range = { min: 0, max: DEADLINE_MS_MAX };
  return options.store.leases.requestDrain({
    ...term,
    by: actor,
    deadlineMs: integerOption('deadlineMs', options.deadlineMs, range),
    ...(options.successor === undefined ? {} : { successor: parseOwner(options.successor) }),
  });
}

/** Ends the term now. Its holder learns of it with its next heartbeat; only fences order what it does. */
export async function revokeLease(options: OperateOptions): Promise<Revoked> {
  rejectUnknownOptions('revokeLease', options, NAMES);
  requireStore('revokeLease', options.store);
  return options.store.leases.revoke(checked(options));
}

function checked(options: OperateOptions): Parameters<KernelStore['leases']['revoke']>[0] {
  return {
    key: parseLeaseKey(options.key),
    fence: parseFence(options.fence),
    request: parseRequestId(options.request ?? systemRandom.uuid()),
    actor: parseText('actor', options.actor),
    reason: parseText('reason', options.reason),
  };
}
