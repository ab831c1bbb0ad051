// A worker in its own process. Its order names the transport.

import { SQSClient } from '@aws-sdk/client-sqs';
import { openWorker } from 'holdfast/worker';
import { grpcTransport } from 'holdfast/worker/grpc';
import { sqsTransport } from 'holdfast/worker/sqs';
import { Shop } from '../executions/order.ts';
import { ordered, sendReport } from '../leases/child-process.ts';
import { courier, meal, till } from './meal.ts';

export type WorkerOrder = { readonly name: string; readonly shopFile: string } & (
  | { readonly over: 'REST'; readonly url: string; readonly key: string }
  | { readonly over: 'gRPC'; readonly address: string; readonly key: string }
  | {
      readonly over: 'SQS';
      readonly endpoint: string;
      readonly requestQueueUrl: string;
      readonly replyQueueUrl: string;
      readonly secret: string;
    }
);

const order = await ordered<WorkerOrder>();
const shop = new Shop(order.shopFile);
const common = { owner: order.name, pollMs: 500 };
if (order.over === 'REST') {
  const { url, key } = order;
  await openWorker({ ...common, url, key, pipelines: [meal] });
} else if (order.over === 'gRPC') {
  const { address, key } = order;
  const transport = await grpcTransport({ address, key });
  await openWorker({ ...common, transport, pipelines: till(shop) });
} else {
  const { endpoint, requestQueueUrl, replyQueueUrl, secret } = order;
  const transport = await sqsTransport({
    client: new SQSClient({
      ...{ endpoint, region: 'us-east-1', useQueueUrlAsEndpoint: false },
      credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    }),
    ...{ requestQueueUrl, replyQueueUrl },
    signing: { keys: { k1: secret }, current: 'k1' },
  });
  await openWorker({ ...common, transport, pipelines: [courier(shop)] });
}
await sendReport({ kind: 'ready' });
