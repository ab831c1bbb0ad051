// The limits of a store. Each store has one policy, which is checked when the store opens. Every
// process that opens the same store should use the same policy.

import { InvalidInput } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';

export interface LeasePolicy {
  /** A ttl outside these is clamped by the store, which answers what it granted. */
  readonly ttlMsMin: number;
  readonly ttlMsMax: number;
  readonly checkpointBytesMax: number;
  /** Open intents per key. */
  readonly intentsMax: number;
  /** Sessions above a session, itself included. */
  readonly sessionDepthMax: number;
  /** The fair chance after an outage: nobody expires sooner after it, once per heartbeat (E-6). */
  readonly recoveryGraceMs: number;
  /** How long a named successor has the key to itself after a yield (V-5). */
  readonly reservationMs: number;
  /** A place in the queue is lost when its waiter has not asked for this long. */
  readonly ticketMs: number;
  /** What one expiry adds to an owner's penalty on a key, in ms that must pass; 0 turns it off (G-4). */
  readonly flapUnitMs: number;
  /** The breaker looks at no fewer sessions than this (E-8). */
  readonly breakerSessionsMin: number;
  /** More than this share of sessions expiring in one window trips the breaker. */
  readonly breakerSharePercent: number;
  readonly breakerWindowMs: number;
  /** How long a tripped breaker holds reclaim back, at most once per heartbeat of a session. */
  readonly breakerHoldMs: number;
  /** Retired keys, ended sessions and events are kept this long before a sweep deletes them. */
  readonly retentionMs: number;
}

export const DEFAULT_POLICY: LeasePolicy = {
  ttlMsMin: 100,
  ttlMsMax: 86_400_000,
  checkpointBytesMax: 262_144,
  intentsMax: 64,
  sessionDepthMax: 8,
  recoveryGraceMs: 5_000,
  reservationMs: 5_000,
  ticketMs: 30_000,
  flapUnitMs: 60_000,
  breakerSessionsMin: 10,
  breakerSharePercent: 50,
  breakerWindowMs: 30_000,
  breakerHoldMs: 15_000,
  retentionMs: 604_800_000,
};

const RANGES: Readonly<Record<keyof LeasePolicy, { readonly min: number; readonly max: number }>> =
  {
    ttlMsMin: { min: 10, max: 86_400_000 },
    ttlMsMax: { min: 10, max: 604_800_000 },
    checkpointBytesMax: { min: 0, max: 16_777_216 },
    intentsMax: { min: 0, max: 1_024 },
    sessionDepthMax: { min: 1, max: 32 },
    recoveryGraceMs: { min: 0, max: 600_000 },
    reservationMs: { min: 0, max: 600_000 },
    ticketMs: { min: 1_000, max: 3_600_000 },
    flapUnitMs: { min: 0, max: 86_400_000 },
    breakerSessionsMin: { min: 10, max: 1_000_000 },
    breakerSharePercent: { min: 1, max: 100 },
    breakerWindowMs: { min: 0, max: 3_600_000 },
    breakerHoldMs: { min: 0, max: 600_000 },
    retentionMs: { min: 0, max: 31_536_000_000 },
  };

export function resolvePolicy(options: Partial<LeasePolicy> = {}): LeasePolicy {
  rejectUnknownOptions('policy', options, Object.keys(RANGES));
  const policy = { ...DEFAULT_POLICY, ...options };
  for (const name of Object.keys(RANGES) as (keyof LeasePolicy)[]) {
    integerOption(`policy.${name}`, policy[name], RANGES[name]);
  }
  if (policy.ttlMsMin > policy.ttlMsMax) {
    throw new InvalidInput(
      `policy.ttlMsMin (${policy.ttlMsMin}) must not be above policy.ttlMsMax (${policy.ttlMsMax}).`,
    );
  }
  return Object.freeze(policy);
}

export function clampTtl(policy: LeasePolicy, ttlMs: number): number {
  return Math.min(Math.max(ttlMs, policy.ttlMsMin), policy.ttlMsMax);
}
