// A worker process that reaches its executions through coordinators only.

import { appendFileSync } from 'node:fs';
import { openWorker } from '../../../src/worker/open-worker.ts';
import { loadPipeline } from '../../load/pipeline.ts';

export interface RestWorkerArgs {
  readonly urls: readonly string[];
  readonly effects: string;
  readonly owner: string;
  readonly ttlMs: number;
}

const args = JSON.parse(process.argv[2] ?? '{}') as RestWorkerArgs;
const worker = await openWorker({
  url: args.urls,
  pipelines: [loadPipeline((line) => appendFileSync(args.effects, `${line}\n`))],
  concurrency: 20,
  owner: args.owner,
  ttlMs: args.ttlMs,
});
console.log('ready');

process.on('SIGTERM', () => {
  worker.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
