// A worker process of the load tests: three steps per execution, each of which writes a line to a
// file. SIGTERM is a deploy: the process stops in order.

import { appendFileSync } from 'node:fs';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { loadPipeline } from './pipeline.ts';
import { openAddressed, type StorePlace } from './place.ts';

export interface WorkerArgs {
  readonly store: StorePlace;
  readonly effects: string;
  readonly owner: string;
  readonly ttlMs: number;
  /** The duration of each step. Default: a few milliseconds. */
  readonly stepMs?: number;
}

const args = JSON.parse(process.argv[2] ?? '{}') as WorkerArgs;
const store = await openAddressed(args.store);
const holdfast = new Holdfast({ store });
const loadOptions = args.stepMs === undefined ? {} : { stepMs: args.stepMs };
await holdfast.worker({
  pipelines: [loadPipeline((line) => appendFileSync(args.effects, `${line}\n`), loadOptions)],
  concurrency: 20,
  owner: args.owner,
  ttlMs: args.ttlMs,
});
console.log('ready');

process.on('SIGTERM', () => {
  stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});

async function stop(): Promise<void> {
  await holdfast.close();
  await store.close();
}
