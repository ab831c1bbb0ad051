import { isRepairable, type Part, type Violation } from '../../../execution/invariants.ts';
import type { Reconcile, Reconciled } from '../../contract/reconcile-store.ts';
import { ofPipeline } from '../../execution-rows.ts';
import type { Database } from '../database.ts';
import type { ReadTransaction } from '../transaction.ts';
import { mend } from './mend.ts';
import {
  lookAtAwaits,
  lookAtExecutions,
  lookAtLetters,
  lookAtPlaces,
  lookAtSchedules,
  lookAtSessions,
  type Page,
} from './reconcile-facts.ts';
import { lookAtWaiting } from './reconcile-waiting.ts';

const LOOKS: Readonly<Record<Part, (tx: ReadTransaction, request: Reconcile) => Page>> = {
  running: lookAtSessions,
  waiting: lookAtWaiting,
  awaits: lookAtAwaits,
  places: lookAtPlaces,
  'dead-letters': lookAtLetters,
  schedules: lookAtSchedules,
  executions: lookAtExecutions,
};

/** Z-4: each repair looks again, under the write lock. */
export async function reconcile(database: Database, request: Reconcile): Promise<Reconciled> {
  const { broken, next } = await database.read((tx) => LOOKS[request.part](tx, request));
  const found = [];
  for (const each of broken) {
    const violation = ofPipeline(each);
    const isTried = request.dryRun !== true && isRepairable(violation.invariant);
    const repaired = isTried && (await database.perform(mendOne, violation));
    found.push({ ...violation, repaired });
  }
  return { found, ...(next === undefined ? {} : { next }) };
}

const mendOne: (tx: Parameters<typeof mend>[0], violation: Violation) => boolean = mend;
