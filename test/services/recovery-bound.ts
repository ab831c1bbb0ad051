/** How long a busy machine may take to run the processes at all. */
const BUSY_MACHINE_MS = 6_000;

/**
 * P4 in real time: ttl + 2 s, with slack for a busy machine. A manual clock checks the exact bound
 * (test/engine/takeover-in-time.test.ts).
 */
export function recoveryBoundMs(ttlMs: number): number {
  return ttlMs + 2_000 + BUSY_MACHINE_MS;
}
