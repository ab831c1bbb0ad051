// One worker process: pays invoices one after another under a lease, and could be anybody's code.
//
// Worker A has a flaw on purpose: it does not ask `lease.assertHeld()` before it pays. A careful
// worker asks; the demonstration is about what still holds when one does not, or when it is frozen
// between the question and the payment.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  describeRefusal,
  type HeldLease,
  type KernelStore,
  openSession,
  type Session,
} from '../../src/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
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

/** Worker B stops here until the narrator lets it go on, to be the holder when A comes back. */
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

/** The narrator says when. */
async function goOn(): Promise<void> {
  await once(process, 'message');
}

function must(answer: { readonly kind: string }, kind: string): void {
  if (answer.kind !== kind) throw new Error(`expected ${kind}, got ${JSON.stringify(answer)}`);
}

async function main(order: WorkerOrder): Promise<void> {
  const store = await openSqliteStore({ file: order.storeFile });
  const ledger = new Ledger(order.ledgerFile, order.checksFences);
  await sendReport({ kind: 'ready' });
  await goOn();

  const owner = `worker ${order.name}`;
  const session = await openSession({ store, owner, ttlMs: TTL_MS, graceMs: GRACE_MS });
  const outcome = await session.acquire(KEY, { wait: true, pollMs: 100 });
  if (outcome.kind !== 'acquired') throw new Error(`acquire: ${outcome.kind}`);
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
    if (order.name === 'B' && invoice === PAUSE_BEFORE_INVOICE) await goOn();
    must(await lease.intent(effectOf(invoice)), 'begun');
    if (order.name === 'A' && invoice === FATAL_INVOICE) {
      // Not awaited first: it may be frozen as soon as this was said, and must notice that it was.
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

/** What earlier terms began and did not settle may have happened: look, then settle. */
async function reconcile({ lease, ledger }: Work): Promise<void> {
  for (const { effect } of lease.intents) {
    const wasPaid = ledger.isPaid(Number(effect.split('-').at(-1)));
    must(await lease.settle(effect), 'settled');
    await sendReport({ kind: 'reconciled', effect, wasPaid });
  }
}

/** Synchronous, as a big parse or a garbage collection would be: no timer fires, no answer arrives. */
function calculateUntilInterrupted(startedAt: number): void {
  let last = startedAt;
  for (;;) {
    const now = performance.now();
    if (now - last > TTL_MS / 2) return;
    if (now - startedAt > CALCULATION_MS_MAX) throw new Error('nobody froze this worker');
    last = now;
  }
}

/** The first line after the thaw is the write. Nothing has told this worker that it was replaced. */
async function payLate(invoice: number, work: Work): Promise<void> {
  const { order, store, session, lease } = work;
  const { fence } = lease;
  const ledger = work.ledger.pay({ fence, worker: order.name, invoice });
  // Past the library, which would not even send it: the store itself says no.
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
