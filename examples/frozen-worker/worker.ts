// A worker process that pays invoices one by one, under a lease.
//
// Worker A has a deliberate flaw: it does not call `lease.assertHeld()` before it pays. A careful worker
// calls it. But a worker can also be frozen between that call and the payment, so the demo shows what
// protects the ledger then.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  describeRefusal,
  type HeldLease,
  type KernelStore,
  openSession,
  type Session,
} from 'holdfast';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { Ledger } from './ledger.ts';
import {
  FATAL_INVOICE,
  GRACE_MS,
  INVOICES,
  KEY,
  type Report,
  TTL_MS,
  type WorkerOrder,
} from './messages.ts';

/** Worker B waits here until the demo resumes it, so that it still holds the lease when A returns. */
const PAUSE_BEFORE_INVOICE = INVOICES;
const CALCULATION_MS_MAX = 5_000;

interface Work {
  readonly order: WorkerOrder;
  readonly store: KernelStore;
  readonly session: Session;
  readonly lease: HeldLease;
  readonly ledger: Ledger;
}

function sendReport(report: Report): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(report, undefined, undefined, () => resolve());
  });
}

/** Waits until the demo resumes this worker. */
async function resumed(): Promise<void> {
  await once(process, 'message');
}

function must(outcome: { readonly kind: string }, kind: string): void {
  if (outcome.kind !== kind) throw new Error(`Expected ${kind}, got ${JSON.stringify(outcome)}.`);
}

async function main(order: WorkerOrder): Promise<void> {
  const store = await openSqliteStore({ file: order.storeFile });
  const ledger = new Ledger(order.ledgerFile, order.checksFences);
  await sendReport({ kind: 'ready' });
  await resumed();

  const owner = `worker ${order.name}`;
  const session = await openSession({ store, owner, ttlMs: TTL_MS, graceMs: GRACE_MS });
  const outcome = await session.acquire(KEY, { wait: true, pollMs: 100 });
  if (outcome.kind !== 'acquired')
    throw new Error(`Worker ${order.name} did not acquire the lease: ${outcome.kind}.`);
  const { lease } = outcome;
  const paid = Number(Buffer.from(lease.restored?.bytes ?? []).toString());
  const intents = lease.intents.map((intent) => intent.effect);
  await sendReport({
    ...{ kind: 'acquired', fence: lease.fence, exit: lease.predecessor.exit, paid, intents },
  });
  await payFrom(paid + 1, { order, store, session, lease, ledger });
  await session.close();
  ledger.close();
  await store.close();
}

async function payFrom(first: number, work: Work): Promise<void> {
  const { order, lease, ledger } = work;
  await reconcile(work);
  for (let invoice = first; invoice <= INVOICES; invoice += 1) {
    if (order.name === 'B' && invoice === PAUSE_BEFORE_INVOICE) await resumed();
    must(await lease.intent(effectOf(invoice)), 'begun');
    if (order.name === 'A' && invoice === FATAL_INVOICE) {
      // Not awaited: the freeze may come as soon as the report is sent, and the loop must notice it.
      const startedAt = performance.now();
      const sent = sendReport({ kind: 'calculating', invoice });
      calculateUntilInterrupted(startedAt);
      return Promise.all([sent, payLate(invoice, work)]).then(() => undefined);
    }
    must(ledger.pay({ fence: lease.fence, worker: order.name, invoice }), 'paid');
    must(await lease.settle(effectOf(invoice)), 'settled');
    must(await lease.checkpoint(String(invoice)), 'saved');
    await sendReport({ kind: 'paid', invoice });
  }
  must(await lease.release('finished'), 'released');
  await sendReport({ kind: 'finished' });
}

/** An open intent of an earlier term may have had its effect: check the ledger, then settle it. */
async function reconcile({ lease, ledger }: Work): Promise<void> {
  for (const { effect } of lease.intents) {
    const wasPaid = ledger.isPaid(Number(effect.split('-').at(-1)));
    must(await lease.settle(effect), 'settled');
    await sendReport({ kind: 'reconciled', effect, wasPaid });
  }
}

/** Blocks the event loop, like a large parse: no timer fires and no response arrives. */
function calculateUntilInterrupted(startedAt: number): void {
  let last = startedAt;
  for (;;) {
    const now = performance.now();
    if (now - last > TTL_MS / 2) return;
    if (now - startedAt > CALCULATION_MS_MAX)
      throw new Error('The demo did not freeze this worker in time.');
    last = now;
  }
}

/** Writes first thing after the thaw, before the worker can notice that it was replaced. */
async function payLate(invoice: number, work: Work): Promise<void> {
  const { order, store, session, lease } = work;
  const { fence } = lease;
  const ledger = work.ledger.pay({ fence, worker: order.name, invoice });
  // Sent directly to the store, because the library would not send it. The store refuses it.
  const bytes = Buffer.from(String(invoice));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const tenure = { key: lease.key, fence, session: session.id };
  const saved = await store.leases.checkpoint({ ...tenure, seq: invoice, bytes, digest });
  await sendReport({
    kind: 'late',
    ledger,
    store: saved.kind === 'refused' ? describeRefusal(saved) : undefined,
    library: assertHeldMessage(lease),
  });
}

function assertHeldMessage(lease: HeldLease): string | undefined {
  try {
    lease.assertHeld(0);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function effectOf(invoice: number): string {
  return `pay-invoice-${invoice}`;
}

process.once('disconnect', () => process.exit(0));
const [order] = await once(process, 'message');
await main(order);
process.disconnect();
