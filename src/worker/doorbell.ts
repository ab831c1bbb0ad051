// Rings when the coordinator's does: one request that is held open until then, where the carrier does not ring
// by itself. Nobody relies on it; workers poll too.

import type { Carrier } from '../protocol/messages/carrier.ts';
import type { Timers } from '../support/timer.ts';

const HELD_MS = 25_000;
const TROUBLE_PAUSE_MS = 1_000;

export class Doorbell {
  readonly #carrier: Carrier;
  readonly #timers: Timers;
  readonly #listeners: Set<() => void> = new Set();
  readonly #stop: AbortController = new AbortController();
  #isAsking = false;

  constructor(carrier: Carrier, timers: Timers) {
    this.#carrier = carrier;
    this.#timers = timers;
  }

  listen(listener: () => void): () => void {
    if (this.#carrier.onRing !== undefined) return this.#carrier.onRing(listener);
    this.#listeners.add(listener);
    if (!this.#isAsking) {
      this.#isAsking = true;
      this.#ask().catch(() => undefined);
    }
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#stop.abort();
    this.#listeners.clear();
  }

  async #ask(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const { rang } = await this.#carrier.ask<{ readonly rang: boolean }>({
          kind: 'waitForBell',
          body: { waitMs: HELD_MS },
          signal,
          timeoutMs: HELD_MS + 10_000,
        });
        if (rang) for (const listener of [...this.#listeners]) listener();
      } catch {
        if (!signal.aborted) await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#timers.after(TROUBLE_PAUSE_MS, resolve);
      this.#stop.signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }
}
