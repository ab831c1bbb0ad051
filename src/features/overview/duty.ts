// Keeps the rollups up to date. The holder of the lease does it for all, off the path of
// claims and ends. A read of trends rolls up first, so this duty rarely has work.

import type { EngineConfig } from '../../engine/config.ts';
import { SingleDuty } from '../../engine/worker/single-duty.ts';
import type { Session } from '../../lease/live-session.ts';

const ROLLUP_KEY = 'holdfast/rollups';
const EVERY_MS = 60_000;
/** The most transactions in one round. A new store of an old deployment has more to catch up. */
const BATCHES_MAX = 200;

export class Rollups {
  readonly #duty: SingleDuty;

  constructor(config: EngineConfig, reconcileMs: number, session: () => Session) {
    const run = async (goesOn: () => boolean): Promise<void> => {
      for (let batches = 0; batches < BATCHES_MAX && goesOn(); batches += 1) {
        if (!(await config.store.executions.rollUp()).more) return;
      }
    };
    // A worker of a test reconciles seldom, so that a month of test time costs little.
    const everyMs = Math.max(EVERY_MS, reconcileMs);
    const duty = { key: ROLLUP_KEY, everyMs, trouble: 'not-rolled-up', run } as const;
    this.#duty = new SingleDuty(config, duty, session);
  }

  /** Resolves when no round is under way. */
  stop(): Promise<void> {
    return this.#duty.stop();
  }
}
