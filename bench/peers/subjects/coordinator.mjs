// Holdfast through a coordinator: coordinator, worker and client are three processes.

import { HoldfastClient } from '../../../src/client/client.ts';
import { start } from '../../coordinator/processes.ts';
import { ASLEEP_MS, inFlight, pause } from './subject-tools.mjs';

export async function open({ url, concurrency }) {
  const location = url.startsWith('postgres')
    ? { kind: 'postgres', url }
    : { kind: 'sqlite', file: url };
  const node = await start('node.ts', location);
  const at = JSON.parse(node.firstLine);
  const client = new HoldfastClient(at);
  let worker;
  const ids = [];
  const submit = async (pipeline = 'timed') => (await client.executions.submit({ pipeline })).id;
  const outputOf = ({ status, output }) => {
    if (status !== 'completed') throw new Error(`An execution ended as ${status}.`);
    return output;
  };
  const result = async (id) => outputOf(await client.executions.result(id));
  const run = async (body) => outputOf(await client.executions.run(body));
  const now = () => performance.timeOrigin + performance.now();
  return {
    settings: `concurrency ${concurrency}, three processes, 64 submits in flight`,
    submitMany: (_, count) => inFlight(count, 64, async () => ids.push(await submit())),
    async work() {
      worker = await start('worker.ts', at);
    },
    finished: () => inFlight(ids.length, 64, (nth) => result(ids[nth])),
    run: () => run({ pipeline: 'timed' }),
    async pickupMs() {
      const sentAt = now();
      return Math.max(0, (await run({ pipeline: 'timed' })) - sentAt);
    },
    async wakeMs() {
      const id = await submit('waits');
      await pause(ASLEEP_MS);
      const sentAt = now();
      await client.executions.signal(id, 'go');
      return Math.max(0, (await result(id)) - sentAt);
    },
    fanOut: (children) => run({ pipeline: 'parent', input: children }),
    async close() {
      await worker?.stop();
      await node.stop();
    },
  };
}
