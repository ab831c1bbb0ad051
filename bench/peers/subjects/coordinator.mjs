// Holdfast through a coordinator: coordinator, worker and client are three processes.

import { HoldfastClient } from '../../../src/client/client.ts';
import { start } from '../../coordinator/processes.ts';
import { inFlight } from './subject-tools.mjs';

export async function open({ url, concurrency }) {
  const location = url.startsWith('postgres')
    ? { kind: 'postgres', url }
    : { kind: 'sqlite', file: url };
  const node = await start('node.ts', location);
  const at = JSON.parse(node.firstLine);
  const client = new HoldfastClient(at);
  let worker;
  const ids = [];
  const submit = async () => (await client.executions.submit({ pipeline: 'timed' })).id;
  const result = async (id) => {
    const { status, output } = await client.executions.result(id);
    if (status !== 'completed') throw new Error(`An execution ended as ${status}.`);
    return output;
  };
  return {
    settings: `concurrency ${concurrency}, three processes, 64 submits in flight`,
    submitMany: (_, count) => inFlight(count, 64, async () => ids.push(await submit())),
    async work() {
      worker = await start('worker.ts', at);
    },
    finished: () => inFlight(ids.length, 64, (nth) => result(ids[nth])),
    run: async () => result(await submit()),
    async pickupMs() {
      const sentAt = performance.timeOrigin + performance.now();
      return Math.max(0, (await result(await submit())) - sentAt);
    },
    async close() {
      await worker?.stop();
      await node.stop();
    },
  };
}
