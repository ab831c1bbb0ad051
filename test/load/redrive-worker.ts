// A process that runs bulk jobs and nothing else, until the job it is told of has ended. When told so it
// kills itself at one item: before it is written, or after it is durable and before anybody was told.

import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { Redrive, RedriveResult } from '../../src/features/repair/port.ts';
import { openAddressed, type StorePlace } from './place.ts';

export interface RedriveWorkerArgs {
  readonly store: StorePlace;
  readonly job: string;
  readonly ttlMs: number;
  /** Which item that it drives again; never when absent. */
  readonly dieAt?: { readonly phase: 'before' | 'after'; readonly item: number };
}

const args = JSON.parse(process.argv[2] ?? '{}') as RedriveWorkerArgs;
let asked = 0;
let answered = 0;
const opened = await openAddressed(args.store, (phase) => {
  if (phase === 'before' && args.dieAt?.phase === phase && asked >= args.dieAt.item) die();
});
const { executions } = opened;
const store = { ...opened, executions: { ...executions, redrive: counted } };
const holdfast = new Holdfast({ store });
// Every worker runs jobs; what they re-drive is left for others.
const nothing = pipeline({ name: 'nothing', run: () => undefined });
await holdfast.worker({ pipelines: [nothing], ttlMs: args.ttlMs, pollMs: 100 });
await holdfast.result(args.job);
await holdfast.close();
await opened.close();

async function counted(request: Redrive): Promise<RedriveResult> {
  asked += 1;
  const answer = await executions.redrive(request);
  answered += 1;
  if (args.dieAt?.phase === 'after' && answered === args.dieAt.item) die();
  return answer;
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way; nothing may happen before it arrives.
  for (;;);
}
