// This store's functions for scripts. Hot verbs use them too.

import { assert } from '../../../support/assert.ts';
import type { Natives } from '../../sql/changes.ts';
import type { SweepFor } from '../../sql/repair.ts';
import { native } from '../../sql/script.ts';
import type { Database } from '../database.ts';
import { sweep } from '../sweep.ts';
import type { Transaction } from '../transaction.ts';
import { endWaiting } from './end-execution.ts';
import { handOn } from './gates.ts';
import { loadRow } from './load-execution.ts';
import { submit } from './submit.ts';

export const NATIVES: Natives = {
  endWaiting: ({ id }, end) =>
    native((tx: Transaction) => {
      const row = loadRow(tx, id);
      assert(row !== undefined, 'X-17: an execution that is ended is stored');
      endWaiting(tx, row, end);
    }),
  submit: (request) =>
    native((tx: Transaction) => {
      const result = submit(tx, request);
      return result.kind === 'submitted' && !result.existing;
    }),
  handOn: ({ project, key, limit }) =>
    native((tx: Transaction) => {
      handOn(tx, { project, concurrency: { key, limit } });
    }),
};

const SWEEP_MAX = 100;

export function sweeper(database: Database): SweepFor {
  return (session) =>
    database.perform((tx) => {
      // An earlier sweep may already have ended this session.
      if (tx.isOpen(session)) sweep(tx, { limit: SWEEP_MAX });
      return !tx.isOpen(session);
    }, undefined);
}
