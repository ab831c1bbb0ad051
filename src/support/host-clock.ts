// A clock that also knows the uptime of its machine. Separate from clock.ts, because it reads a
// file.

import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { type Clock, systemClock } from './clock.ts';

/** Linux only: other systems count the uptime by the wall clock, or have no id of a boot. */
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
