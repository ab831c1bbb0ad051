// A recorded log under other settings: every renewal that was recorded is lived through again, with the
// pause and the failures it had, and asked whether the lease would have lapsed or been lost.

import { RETRIES_PER_TTL } from '../../lease/session.ts';
import { authorityUnder, type LeaseSettings } from './model.ts';
import type { Observations, Renewal } from './observations.ts';

export interface Replay {
  readonly renewals: number;
  readonly sessionDays: number;
  readonly recorded: { readonly lapses: number; readonly losses: number };
  /** With the other settings, in the same time. Not whole where it depends on when a pause had begun. */
  readonly replayed: { readonly lapses: number; readonly losses: number };
  readonly crashes: number;
  /** How much later, or sooner if less than zero, each key of a crashed holder had been taken over. */
  readonly takeoverLaterMs: number;
}

export function replay(observations: Observations, settings: LeaseSettings): Replay {
  const authority = authorityUnder(settings, observations.current?.driftPpm ?? 500);
  const recorded = { lapses: 0, losses: 0 };
  const replayed = { lapses: 0, losses: 0 };
  let renewals = 0;
  for (const session of observations.sessions) {
    const was = session.settings;
    if (was === undefined) continue;
    const wasAuthority = authorityUnder(was, was.driftPpm);
    for (const renewal of session.renewals) {
      renewals += 1;
      recorded.losses += renewal.lost ? 1 : 0;
      recorded.lapses += renewal.lost || renewal.gapMs > wasAuthority ? 1 : 0;
      const gap = gapUnder(settings, renewal, was.heartbeatMs);
      replayed.losses += chanceBeyond(gap, settings.ttlMs);
      replayed.lapses += chanceBeyond(gap, authority);
    }
  }
  const { current } = observations;
  const median = (each: LeaseSettings): number => each.ttlMs - each.heartbeatMs / 2;
  return {
    renewals,
    sessionDays: observations.sessionHours / 24,
    recorded,
    replayed,
    crashes: observations.losses.crashed,
    takeoverLaterMs: current === undefined ? 0 : median(settings) - median(current),
  };
}

/** The gap lies anywhere between these with the same chance. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** That many failures in a row are one outage, which lasts as long as it lasts. */
const OUTAGE_TRIES = 3;

function gapUnder(settings: LeaseSettings, renewal: Renewal, wasHeartbeatMs: number): Gap {
  const { ttlMs, heartbeatMs } = settings;
  const { gapMs, pauseMs, failedTries, failingMs } = renewal;
  // Retries follow the ttl; an outage of the store does not.
  const failing = failedTries < OUTAGE_TRIES ? failedTries * (ttlMs / RETRIES_PER_TTL) : failingMs;
  const least = heartbeatMs + failing;
  if (pauseMs === 0) return { from: least, to: least };
  const begunAt = gapMs - pauseMs - failingMs;
  if (begunAt <= wasHeartbeatMs) {
    // It held the renewal up, so that when it had begun is known, as a share of the heartbeat.
    const share = Math.max(0, begunAt / wasHeartbeatMs);
    const gap = Math.max(least, share * heartbeatMs + pauseMs + failing);
    return { from: gap, to: gap };
  }
  return { from: pauseMs + failing, to: heartbeatMs + pauseMs + failing };
}

function chanceBeyond({ from, to }: Gap, limit: number): number {
  if (from >= limit) return from > limit ? 1 : 0;
  return to <= limit ? 0 : (to - limit) / (to - from);
}

/** "2 fewer false losses and 41 s more time to take over", for people. */
export function describeReplay(replay: Replay): string {
  const was = replay.recorded.losses;
  const would = Math.round(replay.replayed.losses);
  const difference = would - was;
  const losses =
    difference === 0
      ? 'as many false losses'
      : `${Math.abs(difference)} ${difference < 0 ? 'fewer' : 'more'} false ${Math.abs(difference) === 1 ? 'loss' : 'losses'}`;
  const seconds = Math.abs(replay.takeoverLaterMs / 1_000).toFixed(1);
  const takeover = `${seconds} s ${replay.takeoverLaterMs < 0 ? 'less' : 'more'} time to take over`;
  return `With these settings the recorded time would have had ${losses} (${would} instead of ${was}) and ${takeover}.`;
}
