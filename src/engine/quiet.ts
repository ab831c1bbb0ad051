// Tells when code has come to rest: two turns of the event loop in which nothing happened.

import type { Timers } from '../support/timer.ts';

export class Quiet {
  readonly #timers: Timers;
  readonly #reached: () => void;
  #happened = 0;
  #isLooking = false;

  /** `reached` may find that there is no one left to ask. */
  constructor(timers: Timers, reached: () => void) {
    this.#timers = timers;
    this.#reached = reached;
  }

  /** Something happened: rest begins anew. */
  disturb(): void {
    this.#happened += 1;
  }

  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#timers.soon(() => {
      const before = this.#happened;
      this.#timers.soon(() => {
        this.#isLooking = false;
        if (before === this.#happened) this.#reached();
        else this.look();
      });
    });
  }
}
