// Rings when the coordinator's does: one request that is held open until then. Nobody relies on it; workers
// poll too.

import type { Timers } from '../support/timer.ts';
import type { Link } from './link.ts';

const HELD_MS = 25_000;
const TROUBLE_PAUSE_MS = 1_000;

export class Doorbell {
  readonly #link: Link;
  readonly #timers: Timers;
  readonly #listeners: Set<() => void> = new Set();
  readonly #stop: AbortController = new AbortController();
  #isAsking = false;

  constructor(link: Link, timers: Timers) {
    this.#link = link;
    this.#timers = timers;
  }

  listen(listener: () => void): () => void {
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
        const { rang } = await this.#link.json<{ readonly rang: boolean }>({
          method: 'GET',
          path: `/v1/work/bell?waitMs=${HELD_MS}`,
          signal,
          timeoutMs: HELD_MS + 10_000,
          isRead: true,
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
