import { type Finding, isRepairable, type Part } from '../../../execution/invariants.ts';
import type { Reconcile, Reconciled } from '../../contract/reconcile-store.ts';
import { ofPipeline } from '../../execution-rows.ts';
import type { Database } from '../database.ts';
import { mend } from './mend.ts';
import type { Parts } from './parts.ts';
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

const LOOKS: Readonly<Record<Part, (database: Database, request: Reconcile) => Promise<Page>>> = {
  running: lookAtSessions,
  waiting: lookAtWaiting,
  awaits: lookAtAwaits,
  places: lookAtPlaces,
  'dead-letters': lookAtLetters,
  schedules: lookAtSchedules,
  executions: lookAtExecutions,
};

/** Z-4: each repair looks again, with the row locked. */
export async function reconcile(parts: Parts, request: Reconcile): Promise<Reconciled> {
  const { broken, next } = await LOOKS[request.part](parts.database, request);
  const found: Finding[] = [];
  for (const each of broken) {
    const violation = ofPipeline(each);
    const isTried = request.dryRun !== true && isRepairable(violation.invariant);
    found.push({ ...violation, repaired: isTried && (await mend(parts, violation)) });
  }
  if (found.some(({ repaired }) => repaired)) parts.bell.ring();
  return { found, ...(next === undefined ? {} : { next }) };
}
