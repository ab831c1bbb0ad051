import { FlowProducer, Queue, Worker } from 'bullmq';
import { DAY_MS, Ends, inBatches, untilNoneLeft } from './subject-tools.mjs';

export async function open({ redis, concurrency }) {
  const connection = { path: redis, maxRetriesPerRequest: null };
  const queue = new Queue('jobs', { connection, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  const ends = new Ends();
  let began = () => undefined;
  let worker;
  let flows;
  let next = 0;
  const width = Math.min(concurrency, 100);
  const after = { three: 'second', second: 'third' };
  const perform = async ({ name, data }) => {
    if (name === 'ping') began();
    if (after[name] !== undefined) await queue.add(after[name], data);
  };
  return {
    settings: `Redis with appendfsync always, concurrency ${width}; three steps are a chain of jobs`,
    submitMany: (shape, count) =>
      inBatches(count, (batch) =>
        queue.addBulk(batch.map((nth) => ({ name: shape, data: { id: `m${nth}` } }))),
      ),
    async work() {
      worker = new Worker('jobs', perform, { connection, concurrency: width });
      worker.on('completed', ({ name, data }) => {
        if (after[name] === undefined) ends.ended(data.id);
      });
      await worker.waitUntilReady();
    },
    finished: () => untilNoneLeft(() => queue.getJobCountByTypes('waiting', 'active')),
    async run(shape) {
      const id = `r${next++}`;
      const ended = ends.wait(id);
      await queue.add(shape, { id });
      await ended;
    },
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        queue.add('ping', {}).catch(reject);
      }),
    async fanOut(children) {
      flows ??= new FlowProducer({ connection });
      const id = `p${next++}`;
      const ended = ends.wait(id);
      const child = { name: 'one', queueName: 'jobs', data: { id: 'child' } };
      const all = Array.from({ length: children }, () => child);
      await flows.add({ name: 'parent', queueName: 'jobs', data: { id }, children: all });
      await ended;
    },
    submitLater: (count) =>
      inBatches(count, (batch) =>
        queue.addBulk(
          batch.map((nth) => ({
            ...{ name: 'one', data: { id: `w${nth}` }, opts: { delay: DAY_MS } },
          })),
        ),
      ),
    async close() {
      await flows?.close();
      await worker?.close();
      await queue.close();
    },
  };
}
