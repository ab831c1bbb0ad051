// The part of a worker that keeps the times of awaits: ends those that have passed theirs, and starts
// reminders. Every worker does, whatever it runs. An execution that waits sees to its own time when it wakes;
// this is for reminders, for times that were changed, and for executions that nobody wakes.

import type { EngineConfig } from '../../engine/config.ts';
import { tellTrouble } from '../../engine/observer.ts';

const BATCH = 500;
/** What is due within this time is done together. */
const TOGETHER_MS = 200;
const TROUBLE_PAUSE_MS = 5_000;
/** Whoever opens an await knows when it is due. Others look this often, should that one be gone by then. */
const LOOK_MS = 60_000;

export class DueAwaits {
  readonly #config: EngineConfig;
  /** Monotonic. At once, to begin with: nobody may have looked for long. */
  #dueAtMs = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  get dueInMs(): number {
    return Math.max(0, this.#dueAtMs - this.#config.clock.monotonicMs());
  }

  /** Others may have opened or changed some: asks when it is next asked to, unless it just has. */
  lookNowAndThen(): void {
    this.heard(this.#lookedAtMs + LOOK_MS - this.#config.clock.monotonicMs());
  }

  heard(inMs: number | undefined): void {
    if (inMs === undefined) return;
    const atMs = this.#config.clock.monotonicMs() + inMs;
    this.#dueAtMs = Math.min(this.#dueAtMs, Math.max(atMs, this.#lookedAtMs + TOGETHER_MS));
  }

  /** Never rejects: claims go on when awaits are in trouble. */
  async expireWhenDue(): Promise<void> {
    if (this.dueInMs > 0) return;
    // What is heard from here on is not forgotten.
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#lookedAtMs = this.#config.clock.monotonicMs();
    try {
      const { more, nextInMs } = await this.#config.store.executions.expireAwaits({ limit: BATCH });
      if (more) this.#dueAtMs = 0;
      else this.heard(nextInMs);
    } catch (fault) {
      this.heard(TROUBLE_PAUSE_MS);
      tellTrouble(this.#config.observer, 'Awaits could not be looked at', fault);
    }
  }
}
