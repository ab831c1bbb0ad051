// A worker process of one build, which reaches its executions through coordinators only.

import { openWorker } from '../../../src/worker/open-worker.ts';
import { releasedOrder } from '../released-order.ts';

export interface ReleasedWorkerArgs {
  readonly urls: readonly string[];
  readonly release: string;
  /** The name of this build's first step. */
  readonly step: string;
  readonly owner: string;
}

const args = JSON.parse(process.argv[2] ?? '{}') as ReleasedWorkerArgs;
const { urls: url, release: name, owner, step } = args;
const worker = await openWorker({
  url,
  pipelines: [releasedOrder(name, step)],
  release: { name, digest: `sha256:${name}` },
  owner,
  ttlMs: 2_000,
  probeMs: 500,
});
console.log('ready');

process.on('SIGTERM', () => {
  worker.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
