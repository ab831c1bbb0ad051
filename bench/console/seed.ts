// Fills stores with more executions and events than usual.

import { Holdfast } from '../../src/index.ts';
import { parseOwner, parseSessionId } from '../../src/lease/names.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { systemRandom } from '../../src/support/random.ts';

const AT_ONCE = 2_000;

export async function seedExecutions(
  store: CoordinatorStore,
  count: number,
  progress: (what: string) => void,
): Promise<void> {
  const holdfast = new Holdfast({ store });
  for (let done = 0; done < count; done += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - done);
    await Promise.all(
      Array.from({ length: size }, (_, n) => holdfast.submit('order', { n: done + n })),
    );
    progress(`${done + size} of ${count} executions`);
  }
  await holdfast.close();
}

const WRITE = 1_000;

/** Submits an execution and writes `count` events to its history, like a worker. Returns its id. */
export async function seedHistory(store: CoordinatorStore, count: number): Promise<string> {
  const session = parseSessionId(systemRandom.uuid());
  const owner = parseOwner('seed');
  await store.sessions.open({ id: session, owner, ttlMs: 600_000, graceMs: 1_000, metadata: {} });
  const holdfast = new Holdfast({ store });
  const { id } = await holdfast.submit('long', {});
  const shares = [{ lane: 'interactive', limit: 1 }] as const;
  const pipelines = ['long'] as never;
  const claimed = await store.executions.claim({ session, pipelines, shares });
  if (claimed.kind !== 'claimed') throw new Error(`Not measured: the claim was ${claimed.kind}.`);
  const [claim] = claimed.claims;
  if (claim === undefined) throw new Error('Not measured: there was nothing to claim.');
  const { fence } = claim;
  for (let seq = claim.execution.seq + 1; seq < count; seq += WRITE) {
    const events = Array.from({ length: WRITE }, (_, n) => ({
      kind: 'step-completed' as const,
      name: `step-${seq + n}`,
      body: JSON.stringify({ key: `step:step-${seq + n}#1`, out: { v: seq + n } }) as never,
    }));
    const result = await store.executions.record({ id, fence, session, seq, events });
    if (result.kind !== 'recorded') throw new Error(`Not measured: a write was ${result.kind}.`);
  }
  await holdfast.close();
  return id;
}
