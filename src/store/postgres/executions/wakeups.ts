// Wakes listeners when an execution may have become ready or may have ended. It calls listeners in
// this process once per turn of the event loop. Other processes get a NOTIFY, in its own statement,
// off the write path and at a limited rate. A wakeup may be lost, so waiters also poll.

import type { Timers } from '../../../support/timer.ts';
import type { Hints } from '../hints.ts';

const NOTIFY_EVERY_MS = 50;

export class PostgresWakeups {
  readonly #hints: Hints;
  readonly #timers: Timers;
  /** Identifies this process, so that it can ignore its own notifications. */
  readonly #name: string;
  readonly #listeners: Set<() => void> = new Set();
  #unlisten: (() => void) | undefined;
  #isCalling = false;
  #isNotifying = false;
  #hasMore = false;
  #isClosed = false;

  constructor(hints: Hints, timers: Timers, name: string) {
    this.#hints = hints;
    this.#timers = timers;
    this.#name = name;
  }

  /** Call this after a commit. It never fails and never waits. */
  notify(): void {
    if (this.#isClosed) return;
    if (this.#listeners.size > 0 && !this.#isCalling) {
      this.#isCalling = true;
      this.#timers.soon(() => {
        this.#isCalling = false;
        this.#call();
      });
    }
    this.#notifyOthers();
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#unlisten ??= this.#hints.listen((from) => {
      if (from !== this.#name) this.#call();
    });
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#unlisten?.();
    await this.#hints.close();
  }

  #call(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch {
        // A listener's failure must not fail the writer.
      }
    }
  }

  #notifyOthers(): void {
    if (this.#isNotifying) {
      this.#hasMore = true;
      return;
    }
    this.#isNotifying = true;
    this.#hasMore = false;
    void this.#hints
      .notifyOthers(this.#name)
      .then(() => this.#timers.pause(NOTIFY_EVERY_MS))
      .then(() => {
        this.#isNotifying = false;
        if (this.#hasMore && !this.#isClosed) this.#notifyOthers();
      });
  }
}
