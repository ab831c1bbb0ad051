// Ends the sessions of those who died, so that what they left can be claimed (P4). Every claim says whether
// somebody who runs something is overdue; who claims without a pause is told so without a pause too.

import type { SessionStore } from '../../lease/port.ts';
import type { Clock } from '../../support/clock.ts';

/** While claims go on it sweeps at most so often, however many of them say so. */
const SWEEP_MS = 1_000;
const SWEPT_MAX = 100;
/** Whoever ran nothing is spoken of by no claim: nobody waits for what he left. */
const ROUND_MS = 60_000;

export class OverdueSessions {
  readonly #sessions: Pick<SessionStore, 'sweep'>;
  readonly #clock: Clock;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #underWay: Promise<boolean> | undefined;

  constructor(sessions: Pick<SessionStore, 'sweep'>, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** How long until what claims say makes it sweep again. */
  get dueInMs(): number {
    return Math.max(0, this.#sweptAt + SWEEP_MS - this.#clock.monotonicMs());
  }

  /** What a claim said; whether there may be something now that was not there for it. */
  async heard(isOverdue: boolean): Promise<boolean> {
    if (!isOverdue || (this.#underWay === undefined && this.dueInMs > 0)) return false;
    return this.#sweep();
  }

  /** Those too of whom no claim speaks, so that it is told that they ended. */
  async nowAndThen(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#sweptAt >= ROUND_MS) await this.#sweep();
  }

  #sweep(): Promise<boolean> {
    this.#underWay ??= this.#sweepNow().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #sweepNow(): Promise<boolean> {
    this.#sweptAt = this.#clock.monotonicMs();
    const { expired, more } = await this.#sessions.sweep({ limit: SWEPT_MAX });
    if (more) this.#sweptAt = Number.NEGATIVE_INFINITY;
    return expired.length > 0 || more;
  }
}
