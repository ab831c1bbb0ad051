// The restaurant, self-hosted: a coordinator, and three workers in their own processes. The worker over REST
// runs the order, the till uses gRPC, and the courier uses SQS queues. No worker knows the address of
// another. The SQS service is a local fake.
//
//   npm run example examples/self-hosted/restaurant.ts

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { HoldfastClient } from 'holdfast/client';
import { openServer } from 'holdfast/server';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { Shop } from '../executions/order.ts';
import { Story } from '../leases/story.ts';

const WORKER = join(import.meta.dirname, 'worker.ts');
const story = new Story();
const shopFile = join(story.folder, 'shop.jsonl');
const shop = new Shop(shopFile);
const secret = randomBytes(32).toString('base64');

async function order(client: HoldfastClient, dish: string, accepted: boolean): Promise<string> {
  const guest = accepted ? 'ann' : 'bob';
  const { id } = await client.executions.submit({ pipeline: 'meal', input: { dish, guest } });
  for (;;) {
    const { items } = await client.awaits.list({ execution: id, open: true });
    const [found] = items;
    if (found === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    else {
      await client.awaits.answer(found.id, { accepted });
      break;
    }
  }
  const { status, output, failure } = await client.executions.result(id);
  return status === 'completed' ? String(output) : `${status}: ${failure?.code}`;
}

await story.play('A restaurant with three workers, over REST, gRPC and SQS', async () => {
  const sqs = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
  const endpoint = `http://127.0.0.1:${sqs.port}`;
  const queue = (name: string): string => sqs.createQueue(name).queueUrl;
  const requestQueueUrl = queue('requests');
  const replyQueueUrl = queue('replies-courier');
  const store = await openSqliteStore({ file: join(story.folder, 'meals.db') });
  const server = await openServer({
    ...{ store, port: 0, grpc: { port: 0 } },
    sqs: {
      client: new SQSClient({
        ...{ endpoint, region: 'us-east-1', useQueueUrlAsEndpoint: false },
        credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
      }),
      ...{ requestQueueUrl, poisonQueueUrl: queue('poison'), replyQueues: [replyQueueUrl] },
      keys: { k1: { secret } },
    },
  });
  const { url, grpcAddress: address, firstKey: key = '' } = server;
  story.print('coordinator', 'listens for HTTP and gRPC, and reads a queue');
  const workers = [
    story.start(WORKER, 'waiter', { shopFile, over: 'REST', url, key }),
    story.start(WORKER, 'till', { shopFile, over: 'gRPC', address, key }),
    story.start(WORKER, 'courier', {
      ...{ shopFile, over: 'SQS', endpoint, requestQueueUrl, replyQueueUrl, secret },
    }),
  ];
  for (const worker of workers) {
    await worker.waitFor('ready');
    story.print(worker.name, 'is ready');
  }
  const client = new HoldfastClient({ url, key });
  story.print(
    'restaurant',
    `approves the soup; the order ends with: ${await order(client, 'soup', true)}`,
  );
  story.print(
    'restaurant',
    `rejects the fish; the order ends with: ${await order(client, 'fish', false)}`,
  );
  story.print('shop', `effects: ${shop.effects.join(', ')}`);
  story.mustBe(
    shop.effects.join() === 'charge ann,dispatch soup,charge bob,refund bob',
    'each charge led to one meal or one refund',
  );
  await Promise.all(workers.map((each) => each.kill()));
  await server.close();
  await store.close();
  await sqs.stop();
});
