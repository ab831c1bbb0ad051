// A log of a fleet that was simulated: one holder's long life, holders that died, checkpoints.

import type { LeaseSettings } from '../../src/observe/advisor/settings.ts';
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

/** What the library does by itself when only the ttl is given. */
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
  for (let number = 1; number <= crashes; number += 1) {
    const session = `crashed-${number}`;
    const at = 1_000 * number;
    const common = { session, owner: 'crashed', at };
    log.push(
      entry({ kind: 'report', report: { kind: 'lapsed', session, leases: 1, at } }),
      entry({
        kind: 'event',
        event: { kind: 'session-ended', exit: 'expired', seq: number, ...common, at: at + 1 },
      }),
    );
  }
  if (checkpointEveryMs !== undefined) {
    for (let number = 1; number <= 50; number += 1) {
      log.push(checkpointEntry(number, checkpointEveryMs));
    }
  }
  return log;
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
