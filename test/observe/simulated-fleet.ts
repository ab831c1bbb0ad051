// A log of a simulated fleet: one long-lived holder, holders that died, checkpoints.

import type { LeaseSettings } from '../../src/observe/advisor/model.ts';
import type { LogEntry } from '../../src/observe/lease-log/entry.ts';
import { seededRandom } from '../../src/support/random.ts';
import { exponential, SimulatedHolder, type World } from './simulated-holder.ts';

export const FLEET_WORLD: Omit<World, 'random'> = {
  failure: 0.01,
  medianLatencyMs: 8,
  driftPpm: 500,
  pausesPerHour: 30,
  pauseMs: exponential(400),
};

/** The library's defaults for this ttl. */
export function settingsFor(ttlMs: number): LeaseSettings {
  return {
    ttlMs,
    heartbeatMs: ttlMs / 3,
    graceMs: Math.floor(ttlMs / 5),
    guardMs: Math.max(5, Math.floor(ttlMs / 100)),
  };
}

export interface Fleet {
  readonly settings: LeaseSettings;
  readonly hours: number;
  readonly crashes: number;
  readonly checkpointEveryMs?: number;
  readonly world?: Omit<World, 'random'>;
}

export function fleetLog(fleet: Fleet): LogEntry[] {
  const { settings, hours, crashes, checkpointEveryMs, world = FLEET_WORLD } = fleet;
  const holder = new SimulatedHolder({ ...world, random: seededRandom(21) }, settings, true);
  const log = [...holder.live(hours).log];
  log.push(...crashLog(crashes));
  if (checkpointEveryMs !== undefined) {
    for (let number = 1; number <= 50; number += 1) {
      log.push(checkpointEntry(number, checkpointEveryMs));
    }
  }
  return log;
}

function crashLog(crashes: number): LogEntry[] {
  return Array.from({ length: crashes }, (_, index) => {
    const session = `crashed-${index + 1}`;
    const at = 1_000 * (index + 1);
    const common = { session, owner: 'crashed', at: at + 1 };
    return [
      entry({ kind: 'report', report: { kind: 'lapsed', session, leases: 1, at } }),
      entry({
        kind: 'event',
        event: { kind: 'session-ended', exit: 'expired', seq: index + 1, ...common },
      }),
    ];
  }).flat();
}

function checkpointEntry(seq: number, sinceLastMs: number): LogEntry {
  const report = {
    kind: 'operation',
    operation: 'checkpoint',
    outcome: 'ok',
    latencyMs: 40,
    remainingAtSendMs: 5_000,
    remainingAtReplyMs: 5_000,
    session: 'simulated-1',
    loopLagMs: 0,
    suspendedMs: 0,
    key: 'k',
    fence: 1,
    bytes: 100,
    saved: { seq, digest: 'd', sinceLastMs },
    at: seq,
  };
  return entry({ kind: 'report', report });
}

function entry(plain: unknown): LogEntry {
  return plain as LogEntry;
}

/** One session that renews for hours with only these pauses, and eight that died. */
export function healthyLog(hours: number, pauses: readonly number[]): LogEntry[] {
  const session = 'healthy';
  const settings = { ...settingsFor(60_000), heartbeatMs: 5_000 };
  const limits = { driftPpm: 500, retryMs: 3_000, lagEveryMs: 0 };
  const log = [
    entry({
      kind: 'report',
      report: { kind: 'settings', session, owner: 'ann', ...settings, ...limits, at: 1 },
    }),
  ];
  const beats = (hours * 3_600_000) / settings.heartbeatMs;
  for (let beat = 0; beat <= beats; beat += 1) {
    const report = {
      ...{ kind: 'operation', operation: 'heartbeat', outcome: 'ok', latencyMs: 2, attempt: 1 },
      ...{ remainingAtSendMs: 30_000, remainingAtReplyMs: 30_000, session },
      ...{ loopLagMs: pauses[beat] ?? 0, suspendedMs: 0, at: 1 + beat * settings.heartbeatMs },
    };
    log.push(entry({ kind: 'report', report }));
  }
  return [...log, ...crashLog(8)];
}
