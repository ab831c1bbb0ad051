import type { ReconcileStore } from '../../../features/reconcile/port.ts';
import type { RepairStore } from '../../../features/repair/port.ts';
import type { RetentionStore } from '../../../features/retention/port.ts';
import type { Database } from '../database.ts';
import { archived, listArchived } from './archived.ts';
import { jobItems, noteJobItem } from './jobs.ts';
import { reconcile } from './reconcile.ts';
import { redrive } from './redrive.ts';
import { removable, remove } from './remove.ts';

export function repairsOf(
  database: Database,
): Pick<RepairStore, 'redrive' | 'noteJobItem' | 'jobItems'> & ReconcileStore & RetentionStore {
  return {
    redrive: (request) => database.perform(redrive, request),
    noteJobItem: (request) => database.perform(noteJobItem, request),
    jobItems: (query) => database.read((tx) => jobItems(tx, query)),
    reconcile: (request) => reconcile(database, request),
    removable: (query) => database.read((tx) => removable(tx, query)),
    remove: (request) => database.perform(remove, request),
    archived: (id) => database.read((tx) => archived(tx, id)),
    listArchived: (query) => database.read((tx) => listArchived(tx, query)),
  };
}
