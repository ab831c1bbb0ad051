import { isRepairable, type Violation } from '../../../features/reconcile/model.ts';
import type { Reconcile, Reconciled } from '../../../features/reconcile/port.ts';
import { ofPipeline } from '../../execution-rows.ts';
import { LOOKS, type Page } from '../../sql/reconcile.ts';
import type { Database } from '../database.ts';
import { play } from '../gateway.ts';
import type { ReadTransaction } from '../transaction.ts';
import { mend } from './mend.ts';
import { lookAtSessions } from './reconcile-sessions.ts';
import { lookAtWaiting } from './reconcile-waiting.ts';

function look(tx: ReadTransaction, request: Reconcile): Page {
  const { part } = request;
  if (part === 'running') return lookAtSessions(tx, request);
  return part === 'waiting' ? lookAtWaiting(tx, request) : play(tx, LOOKS[part](request));
}

/** Z-4: each repair looks again, under the write lock. */
export async function reconcile(database: Database, request: Reconcile): Promise<Reconciled> {
  const { broken, next } = await database.read((tx) => look(tx, request));
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
