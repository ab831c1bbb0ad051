// A recorded log under other settings: every renewal that was recorded is looked at again, with the
// time it came late by, and asked whether the lease would have lapsed or been lost.

import type { Observations } from './observations.ts';
import { authorityMs, type LeaseSettings } from './settings.ts';

export interface Replay {
  readonly renewals: number;
  readonly sessionDays: number;
  readonly recorded: { readonly lapses: number; readonly losses: number };
  /** With the other settings, in the same time. */
  readonly replayed: { readonly lapses: number; readonly losses: number };
  readonly crashes: number;
  /** How much later, or sooner if less than zero, each key of a crashed holder had been taken over. */
  readonly takeoverLaterMs: number;
}

export function replay(observations: Observations, settings: LeaseSettings): Replay {
  const driftPpm = observations.current?.driftPpm ?? 500;
  const authority = authorityMs(settings, driftPpm);
  let renewals = 0;
  let lapses = 0;
  let losses = 0;
  const before = { lapses: 0, losses: 0 };
  for (const session of observations.sessions) {
    const was = session.settings;
    if (was === undefined) continue;
    const wasAuthority = authorityMs(was, was.driftPpm);
    for (const { gapMs, lost } of session.renewals) {
      renewals += 1;
      if (lost) before.losses += 1;
      if (lost || gapMs > wasAuthority) before.lapses += 1;
      // What a renewal was late by would have been the same; only when it was due is another time.
      const gap = settings.heartbeatMs + (gapMs - was.heartbeatMs);
      if (gap > settings.ttlMs) losses += 1;
      if (gap > authority) lapses += 1;
    }
  }
  const { current } = observations;
  const median = (each: LeaseSettings): number => each.ttlMs - each.heartbeatMs / 2;
  return {
    renewals,
    sessionDays: observations.sessionHours / 24,
    recorded: before,
    replayed: { lapses, losses },
    crashes: observations.losses.crashed,
    takeoverLaterMs: current === undefined ? 0 : median(settings) - median(current),
  };
}

/** "2 fewer false losses and 41 s more takeover time", for people. */
export function describeReplay(replayed: Replay): string {
  const difference = replayed.replayed.losses - replayed.recorded.losses;
  const losses =
    difference === 0
      ? 'as many false losses'
      : `${Math.abs(difference)} ${difference < 0 ? 'fewer' : 'more'} false losses`;
  const seconds = Math.abs(replayed.takeoverLaterMs / 1_000).toFixed(1);
  const takeover = `${seconds} s ${replayed.takeoverLaterMs < 0 ? 'less' : 'more'} time to take over`;
  return `With these settings the recorded time would have had ${losses} (${replayed.replayed.losses} instead of ${replayed.recorded.losses}) and ${takeover}.`;
}
