// The timers of a run: what they call may be mistaken, and then it is this execution that is left where
// people find it; the process goes on. And what tells when its code has come to rest: two turns of the event
// loop in which nothing happened.

import type { Run } from './run.ts';

type Timed = Pick<Run, 'config' | 'troubled'>;

/** As `Timers.after`. */
export function after(run: Timed, ms: number, callback: () => void): () => void {
  return run.config.timers.after(ms, () => safely(run, callback));
}

/** As `Timers.soon`. */
export function soon(run: Timed, callback: () => void): void {
  run.config.timers.soon(() => safely(run, callback));
}

/** Nobody awaits it: what it throws would end the process. */
export function safely(run: Pick<Run, 'troubled'>, call: () => void): void {
  try {
    call();
  } catch (error) {
    run.troubled(error);
  }
}

export class Quiet {
  readonly #run: Timed;
  readonly #reached: () => void;
  #happened = 0;
  #isLooking = false;

  /** `reached` may find that there is no one left to ask. */
  constructor(run: Timed, reached: () => void) {
    this.#run = run;
    this.#reached = reached;
  }

  /** Something happened: rest begins anew. */
  disturb(): void {
    this.#happened += 1;
  }

  look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#run.config.timers.soon(() => {
      const before = this.#happened;
      soon(this.#run, () => {
        this.#isLooking = false;
        if (before === this.#happened) this.#reached();
        else this.look();
      });
    });
  }
}
