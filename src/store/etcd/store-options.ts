// What a person writes to open the store. No type of the driver's, so that the store's own types do
// without it.

import type { LeasePolicy } from '../../lease/policy.ts';
import type { Clock } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { boundedText, shown, wholeNumber } from '../../support/options.ts';

export interface EtcdStoreOptions {
  /** `http://host:2379` or `https://…` of each member; at least one. */
  readonly endpoints: readonly string[];
  /** All keys start with this. Default `holdfast/`. */
  readonly prefix?: string;
  readonly policy?: Partial<LeasePolicy>;
  /** For `https`, in PEM. The system's certificates unless given. */
  readonly tls?: {
    readonly ca?: string;
    /** This client's own, where etcd asks for one. */
    readonly cert?: string;
    readonly key?: string;
  };
  /** An answer that takes longer counts as unknown. Default 3000. */
  readonly callTimeoutMs?: number;
  /** The host's clock unless a test brings its own; only its monotonic part is used. */
  readonly clock?: Clock;
  /** Native leases last no shorter than this. For tests that do etcd's part of the expiry. */
  readonly leaseSecondsMin?: number;
}

export const OPTION_NAMES: readonly (keyof EtcdStoreOptions)[] = [
  'endpoints',
  'prefix',
  'policy',
  'tls',
  'callTimeoutMs',
  'clock',
  'leaseSecondsMin',
];

/** A request of etcd's has 1.5 MiB at most, unless it was told otherwise. */
const CHECKPOINT_BYTES_MAX = 1_048_576;

export function checkLimits(policy: LeasePolicy): void {
  if (policy.checkpointBytesMax <= CHECKPOINT_BYTES_MAX) return;
  throw new InvalidInput(
    `policy.checkpointBytesMax must be ${CHECKPOINT_BYTES_MAX} at most on etcd, which takes no larger requests; got ${policy.checkpointBytesMax}.`,
  );
}

export function prefixOf(options: EtcdStoreOptions): string {
  const prefix = boundedText('prefix', options.prefix ?? 'holdfast/', 256);
  if (prefix.endsWith('/')) return prefix;
  throw new InvalidInput(
    `prefix must end with "/", so that no other prefix is part of it; got ${shown(prefix)}.`,
  );
}

export function callTimeoutOf(options: EtcdStoreOptions): number {
  const range = { min: 10, max: 600_000 };
  return wholeNumber('callTimeoutMs', options.callTimeoutMs ?? 3_000, range);
}

export function leaseSecondsMinOf(options: EtcdStoreOptions): number {
  return wholeNumber('leaseSecondsMin', options.leaseSecondsMin ?? 1, { min: 1, max: 86_400 });
}
