// A worker process, of one build or another, that reaches its executions through coordinators only.

import { appendFileSync } from 'node:fs';
import type { openWorker } from '../../../src/worker/open-worker.ts';
import { loadPipeline } from '../../load/pipeline.ts';
import type { Build } from '../build.ts';

export interface RestWorkerArgs {
  readonly build: Build;
  readonly urls: readonly string[];
  readonly effects: string;
  readonly owner: string;
  readonly ttlMs: number;
  readonly stepMs?: number;
}

const args = JSON.parse(process.argv[2] ?? '{}') as RestWorkerArgs;
const opened = (await import(args.build.worker)) as { readonly openWorker: typeof openWorker };
const { pipeline } = await import(args.build.pipeline);
const effect = (line: string): void => appendFileSync(args.effects, `${line}\n`);
const worker = await opened.openWorker({
  url: args.urls,
  pipelines: [loadPipeline(effect, { pipeline, ...(args.stepMs && { stepMs: args.stepMs }) })],
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
