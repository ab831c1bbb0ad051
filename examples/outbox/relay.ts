// A relay sends messages from the outbox of an application's database. One relay at a time holds the lease
// "outbox". The guard keeps a replaced relay from marking messages as sent.

import { DatabaseSync } from 'node:sqlite';
import { SqliteGuard, StaleFence } from 'holdfast/guards/sqlite';
import { elect, type Term } from 'holdfast/recipes';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { briefly, ordered, sendReport } from '../leases/child-process.ts';
import { Journal } from '../leases/journal.ts';
import type { Sent } from './main.ts';

export interface RelayOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly databaseFile: string;
  readonly receiverFile: string;
  /** Freeze for a while after this message was sent and before it is marked. */
  readonly freezeAfter?: number;
}

export type RelayReport =
  | { readonly kind: 'leads' }
  | { readonly kind: 'sent'; readonly id: number }
  | { readonly kind: 'refused'; readonly why: string };

const TTL_MS = 1_200;
const FREEZE_MS = 4_000;
const POLL_MS = 20;

const order = await ordered<RelayOrder>();
const guard = new SqliteGuard();
const receiver = new Journal<Sent>(order.receiverFile);

async function relay({ lease, signal }: Term): Promise<void> {
  const database = new DatabaseSync(order.databaseFile, { timeout: 5_000 });
  try {
    // From now on the database refuses marks of every earlier relay.
    guard.admit(database, lease);
    await sendReport<RelayReport>({ kind: 'leads' });
    const next = database.prepare('select id, body from outbox where sent = 0 order by id limit 1');
    while (!signal.aborted) {
      const message = next.get() as { readonly id: number; readonly body: string } | undefined;
      if (message === undefined) {
        await briefly(POLL_MS, signal);
        continue;
      }
      // The receiver may get a message twice, and knows it by its id. It never misses one.
      receiver.append({ id: message.id, body: message.body, by: order.name });
      await sendReport<RelayReport>({ kind: 'sent', id: message.id });
      if (message.id === order.freezeAfter) freeze();
      mark(database, lease, message.id);
    }
  } catch (error) {
    if (!(error instanceof StaleFence)) throw error;
    await sendReport<RelayReport>({ kind: 'refused', why: error.message });
  } finally {
    database.close();
  }
}

/** Blocks the whole process, heartbeats included, as a suspended machine or a long calculation does. */
function freeze(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FREEZE_MS);
}

function mark(database: DatabaseSync, lease: Term['lease'], id: number): void {
  database.exec('begin immediate');
  try {
    database.prepare('update outbox set sent = 1 where id = ?').run(id);
    guard.require(database, lease);
    database.exec('commit');
  } catch (error) {
    database.exec('rollback');
    throw error;
  }
}

const store = await openSqliteStore({ file: order.storeFile });
elect({ store, owner: order.name, name: 'outbox', ttlMs: TTL_MS }, relay);
