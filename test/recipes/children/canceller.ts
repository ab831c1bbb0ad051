// Works through steps under a lease: intent, effect, settle, checkpoint. On request it halts before
// or after the effect of one step, so that the test can kill it right there.

import { openSession } from '../../../src/index.ts';
import { type Term, withLease } from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { OracleClient } from '../../processes/oracle/client.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface Cancellation {
  readonly store: StoreAddress;
  readonly owner: string;
  readonly ttlMs: number;
  readonly key: string;
  readonly oraclePort: number;
  readonly steps: number;
  readonly haltAt?: { readonly step: number; readonly moment: 'before-effect' | 'after-effect' };
  /** Effects that have happened, as the provider would report them. */
  readonly happened: readonly string[];
}

/** The content of its grant, and its own actions. */
export interface Cancelled {
  readonly outcome: string;
  readonly exit: string;
  readonly restored: string;
  readonly intents: readonly string[];
  readonly did: readonly string[];
}

export interface CancellerApi {
  /** Emits `halted` when it halts; then it never answers. */
  cancel(input: Cancellation): Promise<Cancelled>;
}

const forEver = (): Promise<never> => new Promise(() => undefined);

async function work({ lease }: Term, order: Cancellation): Promise<Omit<Cancelled, 'outcome'>> {
  const oracle = await OracleClient.connect(order.oraclePort);
  const restored = Buffer.from(lease.restored?.bytes ?? []).toString();
  const did: string[] = [];
  const halt = async (step: number, moment: string): Promise<void> => {
    if (order.haltAt?.step !== step || order.haltAt.moment !== moment) return;
    await emit('halted');
    await forEver();
  };
  for (let step = Number(restored) + 1; step <= order.steps; step += 1) {
    const effect = `step-${step}`;
    const isOpen = lease.intents.some((intent) => intent.effect === effect);
    if (!isOpen) await lease.intent(effect);
    await halt(step, 'before-effect');
    if (!isOpen || !order.happened.includes(effect)) {
      lease.assertHeld(0);
      await oracle.write({ fence: lease.fence, effect, who: order.owner });
      did.push(effect);
    }
    await halt(step, 'after-effect');
    await lease.settle(effect);
    await lease.checkpoint(String(step));
  }
  oracle.close();
  const intents = lease.intents.map(({ effect }) => effect);
  return { exit: lease.predecessor.exit, restored, intents, did };
}

serveCalls<CancellerApi>({
  async cancel(order) {
    const store = await openStoreAt(order.store);
    const { owner, ttlMs, key } = order;
    await using session = await openSession({ store, owner, ttlMs });
    const outcome = await withLease({ session, key, wait: true }, (term) => work(term, order));
    if (outcome.kind !== 'done') throw new Error(outcome.kind);
    return { outcome: outcome.kind, ...outcome.value };
  },
});
