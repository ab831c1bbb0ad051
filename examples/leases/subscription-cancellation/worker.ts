// Cancels one subscription in steps. It records an intent before each call to the provider, and a checkpoint
// after it. A successor knows which steps are done, and which one may be.

import { openSession } from 'holdfast';
import { type Term, withLease } from 'holdfast/recipes';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { ordered, sendReport } from '../child-process.ts';
import { Provider } from './provider.ts';

export interface WorkerOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly providerFile: string;
  /** Wait for ever after this call to the provider, before the checkpoint. */
  readonly haltAfter?: string;
}

export type WorkerReport =
  | {
      readonly kind: 'began';
      readonly exit: string;
      readonly done: readonly string[];
      readonly open: readonly string[];
    }
  | { readonly kind: 'found'; readonly step: string; readonly happened: boolean }
  | { readonly kind: 'did'; readonly step: string }
  | { readonly kind: 'halted'; readonly step: string }
  | { readonly kind: 'finished' };

export const SUBSCRIPTION = 'subscription/9';
export const STEPS: readonly string[] = ['stop-renewal', 'refund-rest', 'send-confirmation'];
const TTL_MS = 1_500;

async function cancel({ lease }: Term, order: WorkerOrder): Promise<void> {
  const provider = new Provider(order.providerFile);
  const done: string[] = JSON.parse(Buffer.from(lease.restored?.bytes ?? '[]').toString());
  const open: readonly string[] = lease.intents.map(({ effect }) => effect);
  await sendReport<WorkerReport>({ kind: 'began', exit: lease.predecessor.exit, done, open });
  for (const step of STEPS.filter((each) => !done.includes(each))) {
    const idempotencyKey = `${SUBSCRIPTION}/${step}`;
    const mayHaveHappened = open.includes(idempotencyKey);
    if (!mayHaveHappened) must(await lease.intent(idempotencyKey), 'begun');
    const happened = mayHaveHappened && provider.has(idempotencyKey);
    if (mayHaveHappened) await sendReport<WorkerReport>({ kind: 'found', step, happened });
    if (!happened) {
      lease.assertHeld(200);
      provider.do({ idempotencyKey, action: step });
      await sendReport<WorkerReport>({ kind: 'did', step });
    }
    if (order.haltAfter === step) {
      await sendReport<WorkerReport>({ kind: 'halted', step });
      await new Promise(() => undefined);
    }
    done.push(step);
    must(await lease.checkpoint(JSON.stringify(done)), 'saved');
    must(await lease.settle(idempotencyKey), 'settled');
  }
}

function must(outcome: { readonly kind: string }, kind: string): void {
  if (outcome.kind !== kind) throw new Error(`Expected ${kind}, got ${JSON.stringify(outcome)}.`);
}

async function main(order: WorkerOrder): Promise<void> {
  const store = await openSqliteStore({ file: order.storeFile });
  const session = await openSession({ store, owner: order.name, ttlMs: TTL_MS });
  const options = { session, key: SUBSCRIPTION, wait: true, exit: 'retired' } as const;
  must(await withLease(options, (term) => cancel(term, order)), 'done');
  await session.close();
  await store.close();
  await sendReport<WorkerReport>({ kind: 'finished' });
}

if (process.argv[1] === import.meta.filename) {
  await main(await ordered<WorkerOrder>());
  process.disconnect();
}
