// The clock of a process that also knows how long its machine has run. Apart from clock.ts, because it reads a file.

import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { type Clock, systemClock } from './clock.ts';

/** Elsewhere than on Linux, the time since the start is counted by the wall clock, or no start has a name. */
function readBoot(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

const boot = readBoot();

export const hostClock: Clock = {
  ...systemClock,
  sinceBoot: () => (boot === undefined ? undefined : { boot, ms: Math.round(uptime() * 1_000) }),
};
