// A worker process under chaos, over any transport. SIGTERM is a deploy: it stops in order.

import { once } from 'node:events';
import { dirname, extname, join } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import pg from 'pg';
import type { grpcTransport } from '../../src/worker/grpc-transport.ts';
import type { openWorker } from '../../src/worker/open-worker.ts';
import type { pushHandler } from '../../src/worker/push-handler.ts';
import type { sqsTransport } from '../../src/worker/sqs-transport.ts';
import type { Build } from '../server/build.ts';
import { plain } from '../transport/push-mounts.ts';
import { orderPipeline } from './order.ts';

export type TransportArgs =
  | { readonly kind: 'http' | 'stream'; readonly urls: readonly string[] }
  | { readonly kind: 'grpc'; readonly address: string }
  | { readonly kind: 'push'; readonly port: number }
  | {
      readonly kind: 'sqs';
      readonly endpoint: string;
      readonly requests: string;
      readonly replies: string;
    };

export interface WorkerArgs {
  readonly build: Build;
  readonly via: TransportArgs;
  readonly ledgerUrl: string;
  readonly owner: string;
  readonly ttlMs: number;
  readonly secret: string;
  readonly ignoresFences: boolean;
}

const { build, via, ledgerUrl, owner, ttlMs, secret, ignoresFences } = JSON.parse(
  process.argv[2] ?? '{}',
) as WorkerArgs;
const signing = { keys: { k: secret }, current: 'k' };
const ledger = new pg.Pool({ connectionString: ledgerUrl, max: 4 });
ledger.on('error', () => undefined);
const { pipeline } = await import(build.pipeline);
const pipelines = [orderPipeline(ledger, { ignoresFences, pipeline })];
const common = { pipelines, owner, ttlMs, concurrency: 20 };

const stop = await start();
console.log('ready');
process.on('SIGTERM', () => {
  stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});

interface Modules {
  readonly 'open-worker': { readonly openWorker: typeof openWorker };
  readonly 'grpc-transport': { readonly grpcTransport: typeof grpcTransport };
  readonly 'push-handler': { readonly pushHandler: typeof pushHandler };
  readonly 'sqs-transport': { readonly sqsTransport: typeof sqsTransport };
}

/** A module of the worker's own build. */
function load<Name extends keyof Modules>(name: Name): Promise<Modules[Name]> {
  return import(join(dirname(build.worker), `${name}${extname(build.worker)}`));
}

async function start(): Promise<() => Promise<unknown>> {
  const { openWorker } = await load('open-worker');
  switch (via.kind) {
    case 'http':
    case 'stream': {
      // The build before this one has no such option.
      const stream = via.kind === 'stream' && { stream: true };
      const worker = await openWorker({ ...common, url: via.urls, ...stream });
      return () => worker.stop();
    }
    case 'grpc': {
      const { grpcTransport } = await load('grpc-transport');
      const transport = await grpcTransport({ address: via.address });
      const worker = await openWorker({ ...common, transport });
      return () => worker.stop();
    }
    case 'sqs': {
      const { endpoint, requests: requestQueueUrl, replies: replyQueueUrl } = via;
      const client = new SQSClient({
        endpoint,
        region: 'us-east-1',
        useQueueUrlAsEndpoint: false,
        credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
      });
      const { sqsTransport } = await load('sqs-transport');
      const transport = await sqsTransport({ client, requestQueueUrl, replyQueueUrl, signing });
      const worker = await openWorker({ ...common, transport });
      return () => worker.stop();
    }
    default: {
      const audience = `http://127.0.0.1:${via.port}/holdfast`;
      const { pushHandler } = await load('push-handler');
      const endpoint = await plain(pushHandler({ pipelines, signing, audience }));
      endpoint.listen(via.port, '127.0.0.1');
      await once(endpoint, 'listening');
      return async () => {
        endpoint.close();
        // The coordinator keeps its connections and would send further calls.
        const closing = setInterval(() => endpoint.closeIdleConnections(), 20);
        await once(endpoint, 'close');
        clearInterval(closing);
      };
    }
  }
}
