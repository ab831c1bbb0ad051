// Four incidents on a running coordinator, with real workers: a bad deploy, a dead worker, a
// question without an answer, and a vendor that fails. For rehearsals with the console.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { HoldfastClient } from '../../src/client/client.ts';
import { contractOf } from '../../src/features/releases/contract-api.ts';
import { type Pipeline, pipeline, question, StepError } from '../../src/index.ts';
import { openWorker, type Worker } from '../../src/worker/open-worker.ts';

export interface Target {
  readonly url: string;
  readonly key?: string;
}

export const INCIDENTS = ['bad deploy', 'dead worker', 'stuck question', 'failing vendor'] as const;

export type Incident = (typeof INCIDENTS)[number];

export interface Incidents {
  /** The incidents that are not repaired yet. */
  open(): Promise<readonly Incident[]>;
  /** As a process manager does it. */
  restartWorker(): Promise<void>;
  endOutage(): void;
  close(): Promise<void>;
}

interface Order {
  readonly order: string;
  readonly lines?: readonly { readonly amount: number }[];
}

const LINES = [{ amount: 40 }, { amount: 2 }];

function invoice(totalOf: (order: Order) => number): Pipeline<Order, number> {
  return pipeline({
    name: 'invoice',
    retry: { attempts: 1 },
    run: (ctx, order: Order) => ctx.step('total', () => totalOf(order)),
  });
}

const RELEASES = {
  v1: invoice(({ lines = [] }) => lines.reduce((sum, { amount }) => sum + amount, 0)),
  // The new code reads a property by a wrong name.
  v2: invoice((order) =>
    (order as unknown as { readonly items: typeof LINES }).items.reduce((sum) => sum, 0),
  ),
} as const;

const refund = pipeline({
  name: 'refund',
  awaits: [question({ name: 'approve-refund' })],
  async run(ctx, { order }: Order) {
    await ctx.await('approve-refund', {
      ...{ request: { order, amount: 480, reason: 'Arrived broken' }, assignee: 'bob' },
    });
    return ctx.step('pay-back', () => `${order} paid back`);
  },
});

function shipment(isUp: () => boolean): Pipeline<Order, string> {
  return pipeline({
    name: 'shipment',
    run: (ctx, { order }: Order) =>
      ctx.step(
        'book-courier',
        () => {
          if (isUp()) return `${order} booked`;
          throw new StepError('The courier returned 503.', {
            ...{ category: 'retryable', code: 'courier-503' },
          });
        },
        { retry: { attempts: 2, initialMs: 50 } },
      ),
  });
}

const RESIZER = join(import.meta.dirname, 'resizer.ts');

async function startResizer({ url, key }: Target): Promise<ChildProcess> {
  const child = fork(RESIZER, [url, ...(key === undefined ? [] : [key])], { stdio: 'inherit' });
  await once(child, 'message');
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  if (child.kill('SIGKILL')) await gone;
}

/** Returns when every incident is visible, except that the lease of the dead worker may still run. */
export async function startIncidents(target: Target): Promise<Incidents> {
  const client = new HoldfastClient(target);
  const isUp = { courier: false };
  const workers: Worker[] = [];
  for (const [name, code] of Object.entries(RELEASES)) {
    const digest = `sha256:${name}`;
    const contract = contractOf(code as never);
    await client.releases.register('invoice', { name, artifact: 'shop', digest, contract });
    const worker = { pipelines: [code], owner: `invoices-${name}@host-5` };
    workers.push(await openWorker({ ...target, ...worker, release: { name, digest } }));
  }
  const others = [refund, shipment(() => isUp.courier)];
  workers.push(await openWorker({ ...target, pipelines: others, owner: 'shop@host-6' }));
  const submit = async (pipelineName: string, count: number): Promise<readonly string[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const input = { order: `${pipelineName}-${index}`, image: `${index}.png`, lines: LINES };
        const { id } = await client.executions.submit({ pipeline: pipelineName, input });
        return id;
      }),
    );
  const ended = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) await client.executions.result(id).catch(() => undefined);
  };
  await client.releases.change('invoice', { action: 'activate', name: 'v1' });
  await ended(await submit('invoice', 3));
  await client.releases.change('invoice', { action: 'activate', name: 'v2' });
  await ended([...(await submit('invoice', 6)), ...(await submit('shipment', 8))]);
  const [stuck = ''] = await submit('refund', 1);
  let resizer = await startResizer(target);
  // A worker announces itself before its first claim. Only then can the coordinator name it.
  await ended(await submit('resize-image', 1));
  await killed(resizer);
  const resizing = await submit('resize-image', 4);
  const isEnded = async (id: string): Promise<boolean> =>
    (await client.executions.read(id)).endedAt !== undefined;
  const openLetters = async (name: string): Promise<number> =>
    (await client.deadLetters.list({ pipeline: name, open: true })).items.length;
  const repaired: Readonly<Record<Incident, () => Promise<boolean>>> = {
    'bad deploy': async () =>
      (await client.releases.rollout('invoice')).active === 'v1' &&
      (await openLetters('invoice')) === 0,
    'dead worker': async () => (await Promise.all(resizing.map(isEnded))).every(Boolean),
    'stuck question': () => isEnded(stuck),
    'failing vendor': async () => isUp.courier && (await openLetters('shipment')) === 0,
  };
  return {
    async open() {
      const found = await Promise.all(INCIDENTS.map((name) => repaired[name]()));
      return INCIDENTS.filter((_, index) => found[index] === false);
    },
    async restartWorker() {
      resizer = await startResizer(target);
    },
    endOutage() {
      isUp.courier = true;
    },
    async close() {
      await killed(resizer);
      await Promise.all(workers.map((worker) => worker.stop()));
    },
  };
}
