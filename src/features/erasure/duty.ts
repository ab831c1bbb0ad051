// Finishes erasures that are pending (F-16): their caller stopped, the archive was away, or a large
// value was too recent. The holder of the lease does it for all.

import type { EngineConfig } from '../../engine/config.ts';
import { reportTrouble } from '../../engine/observer.ts';
import { SingleDuty } from '../../engine/worker/single-duty.ts';
import type { Session } from '../../lease/live-session.ts';
import { isOutage } from '../../lease/store-call.ts';
import { finishErasure } from './api.ts';
import type { PendingErasure } from './port.ts';

/** Only a process with the archive can erase its documents, so the others hold another lease. */
const KEYS = { store: 'holdfast/erasures', archive: 'holdfast/erasures-with-archive' };
const TROUBLE = 'not-erased';
const EVERY_MS = 60_000;
const PAGE = 100;

export class Erasures {
  readonly #config: EngineConfig;
  readonly #duty: SingleDuty;

  constructor(config: EngineConfig, reconcileMs: number, session: () => Session) {
    this.#config = config;
    const run = (goesOn: () => boolean): Promise<void> => this.#run(goesOn);
    const key = this.#hasArchive ? KEYS.archive : KEYS.store;
    const everyMs = Math.max(EVERY_MS, reconcileMs);
    this.#duty = new SingleDuty(config, { key, everyMs, trouble: TROUBLE, run }, session);
  }

  get #hasArchive(): boolean {
    return this.#config.retention?.archive !== undefined;
  }

  /** Resolves when no round is under way. */
  stop(): Promise<void> {
    return this.#duty.stop();
  }

  async #run(goesOn: () => boolean): Promise<void> {
    for (const inArchive of this.#hasArchive ? [false, true] : [false]) {
      for (let found = PAGE; found === PAGE; ) {
        const query = { inArchive, limit: PAGE };
        const page = await this.#config.store.executions.pendingErasures(query);
        found = page.length;
        for (const each of page) {
          if (!goesOn()) return;
          await this.#finish(each);
        }
      }
    }
  }

  /** One that fails is due again later, so that it does not stop the others. */
  async #finish(pending: PendingErasure): Promise<void> {
    try {
      await finishErasure(this.#config, pending);
    } catch (fault) {
      if (isOutage(fault)) throw fault;
      const what = `The erasure of execution ${pending.id} stays pending`;
      reportTrouble(this.#config.observer, { code: TROUBLE, what }, fault);
      await this.#config.store.executions.noteErased({ ...pending, now: pending.was });
    }
  }
}
