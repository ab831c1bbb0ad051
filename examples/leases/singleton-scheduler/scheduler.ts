// One of several processes that can run the schedule. `elect` chooses one of them.

import { elect, type Term } from 'holdfast/recipes';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { briefly, ordered, sendReport, stopWasRequested } from '../child-process.ts';
import { Journal } from '../journal.ts';

export interface SchedulerOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly journalFile: string;
}

export type SchedulerReport =
  | { readonly kind: 'stands' }
  | {
      readonly kind: 'leads';
      readonly fence: number;
      readonly exit: string;
      readonly slot: number;
    };

/** A slot of the schedule that ran. */
export interface Slot {
  readonly slot: number;
  readonly by: string;
  readonly fence: number;
}

const TTL_MS = 1_200;
const EVERY_MS = 50;

/**
 * Continues after the last slot of the leader before. It saves the number before it runs a slot, so each
 * slot runs at most once.
 */
async function runSchedule({ lease, signal }: Term, order: SchedulerOrder): Promise<void> {
  const journal = new Journal<Slot>(order.journalFile);
  let slot = Number(Buffer.from(lease.restored?.bytes ?? []).toString()) + 1;
  const { fence, predecessor } = lease;
  await sendReport<SchedulerReport>({ kind: 'leads', fence, exit: predecessor.exit, slot });
  while (!signal.aborted) {
    if ((await lease.checkpoint(String(slot))).kind !== 'saved') return;
    lease.assertHeld(100);
    journal.append({ slot, by: order.name, fence });
    slot += 1;
    await briefly(EVERY_MS, signal);
  }
}

const order = await ordered<SchedulerOrder>();
const store = await openSqliteStore({ file: order.storeFile });
const options = { store, owner: order.name, name: 'scheduler', ttlMs: TTL_MS };
const election = elect(options, (term) => runSchedule(term, order));
await sendReport<SchedulerReport>({ kind: 'stands' });
await stopWasRequested();
await election.stop();
await store.close();
process.disconnect();
