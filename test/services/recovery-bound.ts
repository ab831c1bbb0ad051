import { readFileSync } from 'node:fs';

/** How long a busy machine may take to run the processes at all. */
const BUSY_MACHINE_MS = 6_000;

/**
 * P4 in real time: ttl + 2 s, with slack for a busy machine. A manual clock checks the exact bound
 * (test/engine/takeover-in-time.test.ts).
 */
export function recoveryBoundMs(ttlMs: number): number {
  return ttlMs + 2_000 + BUSY_MACHINE_MS;
}

/**
 * How long this process's main thread was ready to run and had no CPU. On a machine that many
 * processes load, recovery takes as much longer. 0 where the kernel does not count it.
 */
export function waitedForCpuMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1_000_000;
  } catch {
    return 0;
  }
}
