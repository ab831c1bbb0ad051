// This store's functions for scripts. Hot verbs use them too.

import { chainState } from '../../../lease/session.ts';
import type { Natives } from '../../sql/changes.ts';
import type { SweepFor } from '../../sql/repair.ts';
import { native } from '../../sql/script.ts';
import type { Queries } from '../database.ts';
import { loadChains } from '../load-view.ts';
import { sweep } from '../sweep.ts';
import { endWaiting } from './end-execution.ts';
import { insertWithSlots } from './insert-executions.ts';
import type { Parts } from './parts.ts';
import { handOn } from './slots.ts';

export const NATIVES: Natives = {
  endWaiting: (before, end) => native((queries: Queries) => endWaiting(queries, before, end)),
  submit: (request) =>
    native(async (queries: Queries) => {
      const [isNew] = await insertWithSlots(queries, [request], false);
      return isNew === true;
    }),
  handOn: ({ project, key, limit, taken, now }) =>
    native(async (queries: Queries) => {
      const entry = { slots: { limit, taken }, of: [project, key] };
      await handOn(queries, { entry, taken, now });
    }),
};

const SWEEP_MAX = 100;

export function sweeper({ database, policy }: Parts): SweepFor {
  return async (session) => {
    const isEnded = async (): Promise<boolean> => {
      const { now, chains } = await loadChains(database, [session]);
      return chainState(chains[0] ?? [], now) === 'ended';
    };
    // An earlier sweep may already have ended this session.
    if (await isEnded()) return true;
    await sweep(database, policy, { limit: SWEEP_MAX });
    return isEnded();
  };
}
