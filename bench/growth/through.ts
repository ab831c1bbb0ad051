// The rate of executions through coordinators, each with clients and workers of its own.

import { HoldfastClient } from '../../src/client/client.ts';
import { start } from '../coordinator/processes.ts';
import { runWhole } from '../coordinator/suite.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import { drive } from '../measure.ts';
import type { Plan } from '../suite.ts';

const IN_FLIGHT = 64;

interface Shape {
  readonly plan: Plan;
  readonly coordinators: number;
  /** Connections, spread over the coordinators. The workers of a coordinator share a process. */
  readonly workers: number;
}

export async function rateThrough(
  location: StoreLocation,
  { plan, coordinators, workers }: Shape,
): Promise<number> {
  const running: { stop(): Promise<void> }[] = [];
  const clients: HoldfastClient[] = [];
  let key: string | undefined;
  try {
    for (let nth = 0; nth < coordinators; nth += 1) {
      const node = await start('node.ts', location);
      running.push(node);
      const { url, key: firstKey } = JSON.parse(node.firstLine) as { url: string; key?: string };
      // The first coordinator creates the key of the store.
      key ??= firstKey;
      if (key === undefined) throw new Error('Not measured: the coordinator created no key.');
      const connections = Math.ceil(workers / coordinators);
      running.push(await start('worker.ts', { url, key, connections }));
      clients.push(new HoldfastClient({ url, key, stream: true }));
    }
    const load = {
      inFlight: IN_FLIGHT * coordinators,
      operation: (nth: number) => runWhole(clients[nth % coordinators] as HoldfastClient),
    };
    await drive(load, plan.quick ? 500 : 2_000);
    const { perSecond } = await drive(load, plan.quick ? 1_000 : 5_000);
    return perSecond;
  } finally {
    for (const each of running.reverse()) await each.stop();
  }
}
