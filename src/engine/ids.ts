// Ids of executions: UUIDs of version 7, so that later ones sort later; those of children follow from
// the call that spawns them.

import { createHash } from 'node:crypto';
import type { ExecutionId } from '../execution/names.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { Random } from '../support/random.ts';

/** Rising within a process, also within a millisecond: what is submitted later sorts later. */
export class ExecutionIds {
  readonly #clock: Clock;
  readonly #random: Random;
  #ms = 0;
  #count = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Time in front, then a counter of 12 bits, the rest from a random UUID. */
  next(): ExecutionId {
    const ms = Math.trunc(this.#clock.wallMs());
    if (ms > this.#ms) {
      this.#ms = ms;
      this.#count = 0;
    } else {
      this.#count += 1;
    }
    // Used up, or the clock was set back: time is borrowed from the next millisecond.
    if (this.#count > COUNT_MAX) {
      this.#ms += 1;
      this.#count = 0;
    }
    const count = this.#count.toString(16).padStart(3, '0');
    return `${timePrefix(this.#ms)}-7${count}${this.#random.uuid().slice(18)}` as ExecutionId;
  }
}

const COUNT_MAX = 0xfff;

/** The id of a child: as if made at `at`, and the same whenever it is made again from the same name. */
export function childId(name: string, at: Instant): ExecutionId {
  return `${timePrefix(at)}-7${derivedUuid(name).slice(15)}` as ExecutionId;
}

function timePrefix(ms: number): string {
  const time = Math.max(0, Math.trunc(ms)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8, 12)}`;
}

/** Version 8: made from a name, the same every time. */
export function derivedUuid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
