// A process that runs only bulk jobs, until its job has ended. On request it kills itself at one
// item: before it writes the item, or after the item is durable and before the answer.

import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { Redrive, RedriveResult } from '../../src/features/repair/port.ts';
import { openAddressed, type StorePlace } from './place.ts';

export interface RedriveWorkerArgs {
  readonly store: StorePlace;
  readonly job: string;
  readonly ttlMs: number;
  /** The number of the re-driven item. Absent: never. */
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
// Every worker runs jobs; other workers run the re-driven executions.
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
  // The signal is on its way. Nothing may happen before it arrives.
  for (;;);
}
