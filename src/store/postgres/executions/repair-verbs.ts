// The verbs of repair, of the audit, of retention and of counting, but for `redrive`, which gathers into flushes.

import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ReconcileStore } from '../../../features/reconcile/port.ts';
import { type DeadLetter, storable } from '../../../features/repair/model.ts';
import type { RepairStore } from '../../../features/repair/port.ts';
import type { RetentionStore } from '../../../features/retention/port.ts';
import type { CensusStore } from '../../contract/census-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { archived, listArchived } from './archived.ts';
import { depth, inFlight } from './census.ts';
import { jobItems, noteJobItem } from './jobs.ts';
import type { Parts } from './parts.ts';
import { reconcile } from './reconcile.ts';
import { removable, remove } from './remove.ts';

export function repairsOf(
  parts: Parts,
): Pick<RepairStore, 'noteJobItem' | 'jobItems'> & ReconcileStore & RetentionStore & CensusStore {
  const { database } = parts;
  return {
    noteJobItem: (request) => noteJobItem(parts, request),
    jobItems: (query) => jobItems(database, query),
    reconcile: (request) => reconcile(parts, request),
    removable: (query) => removable(database, query),
    remove: (request) => remove(parts, request),
    archived: (id) => archived(database, id),
    listArchived: (query) => listArchived(database, query),
    inFlight: (query) => inFlight(database, query),
    depth: (query) => depth(database, query),
  };
}

const WRITE = statement(`
  insert into hf.dead_letter (execution_id, project, pipeline, status, at, category, code, reason, step, attempts, release)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`);

/** Y-10: in the transaction that ends the execution. */
export async function writeDeadLetter(
  queries: Queries,
  ended: ExecutionRecord,
  letter: DeadLetter,
): Promise<void> {
  const { id, project, pipeline, status, endedAt } = ended;
  const { category, code, reason, step, attempts } = storable(letter);
  const told = [category, code, reason, step ?? null, attempts, ended.release ?? null];
  await queries.rows(WRITE, [id, project, pipeline, STATUS_CODES[status], endedAt, ...told]);
}
