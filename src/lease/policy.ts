// The limits of a store. Each store has one policy, which is checked when the store opens. Every
// process that opens the same store should use the same policy.

import { InvalidInput } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';

/**
 * The limits of a store. Use the same in every process that opens it. Durations are in
 * milliseconds.
 */
export interface LeasePolicy {
  /** The shortest ttl. The store clamps shorter ones. Default 100. */
  readonly ttlMsMin: number;
  /** The longest ttl. The store clamps longer ones. Default 86,400,000 (a day). */
  readonly ttlMsMax: number;
  /** The largest checkpoint of a lease in bytes. Default 262,144. */
  readonly checkpointBytesMax: number;
  /** Open intents per key. Default 64. */
  readonly intentsMax: number;
  /** How deep sessions may be nested, the first one included. Default 8. */
  readonly sessionDepthMax: number;
  /** After an outage of the store, no session expires sooner than this. Default 5,000. */
  readonly recoveryGraceMs: number;
  /** The time for which only the named successor may acquire a key after a yield. Default 5,000. */
  readonly reservationMs: number;
  /** A waiter that has not polled for this long loses its turn in the queue. Default 30,000. */
  readonly ticketMs: number;
  /**
   * The penalty that one expiry adds for its owner on that key. 0 turns penalties off. Default
   * 60,000.
   */
  readonly flapUnitMs: number;
  /** With fewer sessions than this, the mass-expiry breaker never trips. Default 10. */
  readonly breakerSessionsMin: number;
  /**
   * The breaker trips if more than this percentage of sessions expires in one window. Default 50.
   */
  readonly breakerSharePercent: number;
  /** The window of the breaker. Default 30,000. */
  readonly breakerWindowMs: number;
  /**
   * How long a tripped breaker delays expiry, at most once per heartbeat of a session. Default
   * 15,000.
   */
  readonly breakerHoldMs: number;
  /** How long ended sessions, retired keys and events are kept. Default 604,800,000 (a week). */
  readonly retentionMs: number;
}

/** The policy of a store that is opened without one. */
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
