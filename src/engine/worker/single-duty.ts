// A duty that one worker performs for all: the worker that holds its lease.

import type { HeldLease } from '../../lease/held-lease.ts';
import type { Session } from '../../lease/live-session.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { jittered } from '../../support/random.ts';
import type { EngineConfig } from '../config.ts';
import { reportTrouble } from '../observer.ts';

interface Duty {
  /** The key of the lease. Only its holder performs the duty. */
  readonly key: string;
  readonly everyMs: number;
  /** The report if the duty fails. */
  readonly trouble: Code;
  /** Calls `goesOn` before each part and stops when it returns false. */
  run(goesOn: () => boolean): Promise<void>;
}

const SPREAD = 0.1;

export class SingleDuty {
  readonly #config: EngineConfig;
  readonly #duty: Duty;
  readonly #session: () => Session;
  #lease: HeldLease | undefined;
  #isOver = false;
  #running: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;

  /** `session` returns the worker's current session. */
  constructor(config: EngineConfig, duty: Duty, session: () => Session) {
    this.#config = config;
    this.#duty = duty;
    this.#session = session;
    this.#wait();
  }

  /** Resolves when no round is under way. */
  stop(): Promise<void> {
    this.#isOver = true;
    this.#cancel();
    return this.#running;
  }

  #wait(): void {
    if (this.#isOver) return;
    const { timers, random } = this.#config;
    this.#cancel = timers.after(jittered(random, this.#duty.everyMs, SPREAD), () => {
      this.#running = this.#run().finally(() => this.#wait());
    });
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      if (!(await this.#isMine())) return;
      await this.#duty.run(() => !this.#isOver && this.#lease?.signal.aborted === false);
    } catch (fault) {
      reportTrouble(this.#config.observer, { code: this.#duty.trouble }, fault);
    }
  }

  async #isMine(): Promise<boolean> {
    if (this.#lease?.signal.aborted === false) return true;
    // After a lapse the term may still hold, and the holder of a key cannot acquire it again.
    const rejoined = await this.#lease?.rejoin();
    if (rejoined?.kind === 'rejoined') {
      this.#lease = rejoined.lease;
      return true;
    }
    const outcome = await this.#session().acquire(this.#duty.key);
    this.#lease = outcome.kind === 'acquired' ? outcome.lease : undefined;
    return this.#lease !== undefined;
  }
}
