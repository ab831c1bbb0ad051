// One of several processes that share the partitions of a stream. It reads each partition from its last
// checkpoint, and saves a checkpoint every few records.

import { type PoolTerm, pool } from 'holdfast/recipes';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { briefly, ordered, sendReport, stopWasRequested } from '../child-process.ts';
import { Journal } from '../journal.ts';

export interface ProcessorOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly journalFile: string;
}

export type ProcessorReport =
  | {
      readonly kind: 'took';
      readonly partition: string;
      readonly exit: string;
      readonly offset: number;
    }
  | { readonly kind: 'left'; readonly partition: string };

/** A processed record. */
export interface Processed {
  readonly partition: string;
  readonly offset: number;
  readonly by: string;
}

const PARTITIONS: readonly string[] = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
const RECORDS_PER_CHECKPOINT = 5;
const TTL_MS = 2_000;
const RECORD_MS = 20;

async function consume(term: PoolTerm, order: ProcessorOrder): Promise<void> {
  const { key: partition, lease, signal } = term;
  const journal = new Journal<Processed>(order.journalFile);
  let offset = Number(Buffer.from(lease.restored?.bytes ?? []).toString());
  const { exit } = lease.predecessor;
  await sendReport<ProcessorReport>({ kind: 'took', partition, exit, offset });
  while (!signal.aborted) {
    offset += 1;
    lease.assertHeld(100);
    journal.append({ partition, offset, by: order.name });
    if (offset % RECORDS_PER_CHECKPOINT === 0) await lease.checkpoint(String(offset));
    await briefly(RECORD_MS, signal);
  }
  // Save the progress before handing over, so that the next process repeats nothing.
  await lease.checkpoint(String(offset));
  await sendReport<ProcessorReport>({ kind: 'left', partition });
}

const order = await ordered<ProcessorOrder>();
const store = await openSqliteStore({ file: order.storeFile });
const options = { store, owner: order.name, name: 'orders', keys: PARTITIONS, ttlMs: TTL_MS };
const member = pool(options, (term) => consume(term, order));
await stopWasRequested();
await member.stop();
await store.close();
process.disconnect();
