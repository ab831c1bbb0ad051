import type { SealStore } from '../../../features/export/port.ts';
import { systemClock } from '../../../support/clock.ts';
import { systemRandom } from '../../../support/random.ts';
import { systemTimers } from '../../../support/timer.ts';
import { persistently } from '../committer.ts';
import type { Database } from '../database.ts';
import { readSeal, seal } from './seal.ts';
import { unseal } from './unseal.ts';

const SURROUNDINGS = { clock: systemClock, random: systemRandom, timers: systemTimers };

/** Repeated for a while: under load the locks of all tables are seldom had at once, and repeating is safe. */
export function sealsOf(database: Database): SealStore {
  return {
    seal: (request) =>
      persistently(SURROUNDINGS, () => database.transaction((queries) => seal(queries, request))),
    unseal: (request) =>
      persistently(SURROUNDINGS, () => database.transaction((queries) => unseal(queries, request))),
    read: () => readSeal(database),
  };
}
