import { type Finding, isRepairable } from '../../../features/reconcile/model.ts';
import type { Reconcile, Reconciled } from '../../../features/reconcile/port.ts';
import { ofPipeline } from '../../execution-rows.ts';
import { LOOKS, type Page } from '../../sql/reconcile.ts';
import type { Database } from '../database.ts';
import { play } from '../gateway.ts';
import { mend } from './mend.ts';
import type { Parts } from './parts.ts';
import { lookAtSessions } from './reconcile-sessions.ts';
import { lookAtWaiting } from './reconcile-waiting.ts';

function look(database: Database, request: Reconcile): Promise<Page> {
  const { part } = request;
  if (part === 'running') return lookAtSessions(database, request);
  return part === 'waiting'
    ? lookAtWaiting(database, request)
    : play(database, LOOKS[part](request));
}

/** Z-4: each repair looks again, with the row locked. */
export async function reconcile(parts: Parts, request: Reconcile): Promise<Reconciled> {
  const { broken, next } = await look(parts.database, request);
  const found: Finding[] = [];
  for (const each of broken) {
    const violation = ofPipeline(each);
    const isTried = request.dryRun !== true && isRepairable(violation.invariant);
    found.push({ ...violation, repaired: isTried && (await mend(parts, violation)) });
  }
  if (found.some(({ repaired }) => repaired)) parts.bell.ring();
  return { found, ...(next === undefined ? {} : { next }) };
}
