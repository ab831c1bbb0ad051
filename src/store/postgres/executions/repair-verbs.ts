// The verbs of repair, of the audit, of retention and of counting, but for `redrive`, which gathers into flushes.

import type { ReconcileStore } from '../../../features/reconcile/port.ts';
import type { RepairStore } from '../../../features/repair/port.ts';
import type { RetentionStore } from '../../../features/retention/port.ts';
import type { CensusStore } from '../../contract/census-store.ts';
import { archived, listArchived } from './archived.ts';
import { depth, inFlight } from './census.ts';
import { jobItems, noteJobItem } from './jobs.ts';
import type { Parts } from './parts.ts';
import { reconcile } from './reconcile.ts';
import { removable } from './removable.ts';
import { remove } from './remove.ts';

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
