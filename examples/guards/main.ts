// The smallest example of a guard. A holder is replaced, and the application's own database refuses its
// late write, although the new holder has not written yet. It needs no service.
//
//   npm run example examples/guards/main.ts

import { DatabaseSync } from 'node:sqlite';
import { formatFence, type HeldLease, openSession } from 'holdfast';
import { SqliteGuard, StaleFence } from 'holdfast/guards/sqlite';
import { openMemoryStore } from 'holdfast/store/memory';

const store = openMemoryStore();
const guard = new SqliteGuard();
const ledger = new DatabaseSync(':memory:');
ledger.exec(`${guard.createTable}; create table payment (invoice integer, worker text)`);

async function acquireAs(owner: string): Promise<{ lease: HeldLease; stop(): Promise<unknown> }> {
  const session = await openSession({ store, owner, ttlMs: 15_000 });
  const outcome = await session.acquire('ledger', { wait: true });
  if (outcome.kind !== 'acquired') {
    throw new Error(`${owner} did not acquire the ledger: ${outcome.kind}.`);
  }
  const { lease } = outcome;
  // Call this before the first read or write: from now on the database refuses all earlier holders.
  guard.admit(ledger, lease);
  console.log(`${owner} holds the ledger with fence ${formatFence(lease.fence)}`);
  return { lease, stop: () => session.close() };
}

function pay(worker: string, lease: HeldLease, invoice: number): void {
  ledger.exec('begin immediate');
  try {
    ledger.prepare('insert into payment values (?, ?)').run(invoice, worker);
    guard.require(ledger, lease);
    ledger.exec('commit');
    console.log(`${worker} paid invoice ${invoice}`);
  } catch (error) {
    ledger.exec('rollback');
    if (!(error instanceof StaleFence)) throw error;
    console.log(`${worker} was REFUSED: ${error.message}`);
  }
}

const a = await acquireAs('A');
pay('A', a.lease, 1);
await a.stop();
const b = await acquireAs('B');
// A has not noticed that it was replaced, and B has not written yet.
pay('A', a.lease, 2);
pay('B', b.lease, 2);
await b.stop();
await store.close();

const payments = ledger.prepare('select invoice, worker from payment').all();
console.log(payments.map((row) => `invoice ${row['invoice']} by ${row['worker']}`).join(', '));
