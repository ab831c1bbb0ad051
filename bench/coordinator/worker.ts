// A worker over HTTP or SQS. The output of an execution is the time at which its code began.

import { pipeline } from '../../src/engine/pipeline.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { sqsTransport } from '../../src/worker/sqs-transport.ts';
import { type QueueAddresses, queueClient, signingOf } from '../tenants/queues.ts';

const { url, key, queues } = JSON.parse(process.argv[2] ?? '{}') as {
  url: string;
  key: string;
  queues?: QueueAddresses;
};
const timed = pipeline({
  name: 'timed',
  async run(ctx) {
    const beganAt = performance.timeOrigin + performance.now();
    for (const name of ['one', 'two', 'three']) await ctx.step(name, () => name);
    return beganAt;
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
await openWorker({ ...reached, pipelines: [timed], concurrency: 1_000 });
console.log('ready');
process.on('message', () => process.send?.(process.cpuUsage()));
process.on('disconnect', () => process.exit(0));
