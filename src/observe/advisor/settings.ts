// What can be set, and what follows from it the way this library counts.

/** What a session lives by. `checkpointMs` is the work between two checkpoints. */
export interface LeaseSettings {
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  readonly graceMs: number;
  readonly guardMs: number;
  readonly checkpointMs?: number;
}

/** As the keeper has it: a heartbeat that was not answered is tried again this soon. */
export const RETRIES_PER_TTL = 20;
/** As the keeper has it unless it is told otherwise. */
export const BEATS_PER_TTL = 3;

export function defaultGuardMs(ttlMs: number): number {
  return Math.max(5, Math.floor(ttlMs / 100));
}

/** How long the holder may act after a renewal left: grace, drift and guard taken off (C-3, G-1). */
export function authorityMs(settings: LeaseSettings, driftPpm: number): number {
  const rho = driftPpm / 1_000_000;
  const granted = settings.ttlMs - settings.graceMs;
  return (granted * (1 - rho)) / (1 + rho) - settings.guardMs;
}

export function sameSettings(a: LeaseSettings, b: LeaseSettings): boolean {
  const close = (x: number, y: number): boolean => Math.abs(x - y) <= 0.01 * Math.max(x, y);
  return (
    close(a.ttlMs, b.ttlMs) && close(a.heartbeatMs, b.heartbeatMs) && close(a.graceMs, b.graceMs)
  );
}
