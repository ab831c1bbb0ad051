// A worker over HTTP or SQS. `timed` returns the time at which its code began, and `waits` the time at
// which it woke.

import { pipeline } from '../../src/engine/pipeline.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { sqsTransport } from '../../src/worker/sqs-transport.ts';
import { type QueueAddresses, queueClient, signingOf } from '../tenants/queues.ts';

const {
  url,
  key,
  queues,
  connections = 1,
} = JSON.parse(process.argv[2] ?? '{}') as {
  url: string;
  key: string;
  /** How many workers this process opens. */
  connections?: number;
  queues?: QueueAddresses;
};
const now = (): number => performance.timeOrigin + performance.now();
const timed = pipeline({
  name: 'timed',
  async run(ctx) {
    const beganAt = now();
    for (const name of ['one', 'two', 'three']) await ctx.step(name, () => name);
    return beganAt;
  },
});
const waits = pipeline({
  name: 'waits',
  async run(ctx) {
    await ctx.receive('go');
    return now();
  },
});
const one = pipeline({
  name: 'one',
  run: (ctx, nth: number) => ctx.step('s1', () => nth),
});
const parent = pipeline({
  name: 'parent',
  async run(ctx, children: number) {
    const inputs = Array.from({ length: children }, (_, nth) => nth);
    return (await (await ctx.fanOut(one, inputs)).results()).length;
  },
});
const reached =
  queues === undefined
    ? { url, key, stream: true }
    : {
        transport: await sqsTransport({
          client: queueClient(),
          requestQueueUrl: queues.requests,
          replyQueueUrl: queues.replies,
          signing: signingOf('healthy'),
        }),
      };
for (let nth = 0; nth < connections; nth += 1) {
  await openWorker({ ...reached, pipelines: [timed, waits, one, parent], concurrency: 1_000 });
}
console.log('ready');
process.on('message', () => process.send?.(process.cpuUsage()));
process.on('disconnect', () => process.exit(0));
