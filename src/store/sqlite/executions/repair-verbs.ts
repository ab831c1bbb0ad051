import type { AuditStore } from '../../contract/audit-store.ts';
import type { ReconcileStore } from '../../contract/reconcile-store.ts';
import type { RepairStore } from '../../contract/repair-store.ts';
import type { RetentionStore } from '../../contract/retention-store.ts';
import type { Database } from '../database.ts';
import { archived, listArchived } from './archived.ts';
import { deadLetter, deadLetterGroups, deadLetters } from './dead-letters.ts';
import { jobItems, noteJobItem } from './jobs.ts';
import { reconcile } from './reconcile.ts';
import { redrive } from './redrive.ts';
import { noteRefusals, refusals } from './refusals.ts';
import { removable } from './removable.ts';
import { remove } from './remove.ts';

export function repairsOf(
  database: Database,
): RepairStore & Pick<AuditStore, 'noteRefusals' | 'refusals'> & ReconcileStore & RetentionStore {
  return {
    redrive: (request) => database.perform(redrive, request),
    deadLetter: (id) => database.read((tx) => deadLetter(tx, id)),
    deadLetters: (query) => database.read((tx) => deadLetters(tx, query)),
    deadLetterGroups: (query) => database.read((tx) => deadLetterGroups(tx, query)),
    noteJobItem: (request) => database.perform(noteJobItem, request),
    jobItems: (query) => database.read((tx) => jobItems(tx, query)),
    noteRefusals: (batch) => database.perform(noteRefusals, batch),
    refusals: (query) => database.read((tx) => refusals(tx, query)),
    reconcile: (request) => reconcile(database, request),
    removable: (query) => database.read((tx) => removable(tx, query)),
    remove: (request) => database.perform(remove, request),
    archived: (id) => database.read((tx) => archived(tx, id)),
    listArchived: (query) => database.read((tx) => listArchived(tx, query)),
  };
}
