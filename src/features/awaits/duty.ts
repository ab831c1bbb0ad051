// Keeps the times of awaits: ends overdue ones and starts reminders. Every worker does this,
// whatever pipelines it runs. A waiting execution handles its own timeout when it wakes. This duty
// covers reminders, changed timeouts, and executions that no worker wakes.

import type { EngineConfig } from '../../engine/config.ts';
import { reportTrouble } from '../../engine/observer.ts';

/** Small, because a worker that stops waits for the batch under way. */
const BATCH = 100;
/** Awaits due within this time share one query. */
const TOGETHER_MS = 200;
const TROUBLE_PAUSE_MS = 5_000;
/**
 * The worker that opens an await knows its due time. Other workers look this often, in case that
 * worker is gone.
 */
const POLL_MS = 60_000;

export class DueAwaits {
  readonly #config: EngineConfig;
  /** Monotonic. Starts at zero to look at once: no worker may have looked for a long time. */
  #dueAtMs = 0;
  #polledAtMs = Number.NEGATIVE_INFINITY;

  constructor(config: EngineConfig) {
    this.#config = config;
  }

  get dueInMs(): number {
    return Math.max(0, this.#dueAtMs - this.#config.clock.monotonicMs());
  }

  /** Other processes may have opened or changed awaits. Looks again, unless it did so recently. */
  checkRegularly(): void {
    this.noteDueIn(this.#polledAtMs + POLL_MS - this.#config.clock.monotonicMs());
  }

  noteDueIn(inMs: number | undefined): void {
    if (inMs === undefined) return;
    const atMs = this.#config.clock.monotonicMs() + inMs;
    this.#dueAtMs = Math.min(this.#dueAtMs, Math.max(atMs, this.#polledAtMs + TOGETHER_MS));
  }

  /** Never rejects: claims go on when awaits fail. */
  async expireWhenDue(): Promise<void> {
    if (this.dueInMs > 0) return;
    // Reset before the query, so that a time reported meanwhile is kept.
    this.#dueAtMs = Number.POSITIVE_INFINITY;
    this.#polledAtMs = this.#config.clock.monotonicMs();
    try {
      const { more, nextInMs } = await this.#config.store.executions.expireAwaits({ limit: BATCH });
      if (more) this.#dueAtMs = 0;
      else this.noteDueIn(nextInMs);
    } catch (fault) {
      this.noteDueIn(TROUBLE_PAUSE_MS);
      reportTrouble(this.#config.observer, { code: 'awaits-not-read' }, fault);
    }
  }
}
