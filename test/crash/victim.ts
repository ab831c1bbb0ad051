// A process that submits the order or the saga, runs it, and prints how it ended. On request it
// kills itself at one commit: before it sends the commit, or after the commit is durable and before
// the answer.

import { Holdfast } from '../../src/engine/holdfast.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { crashPipelines } from './pipelines.ts';
import { letterPipeline, refuse, sagaPipeline } from './saga.ts';

export interface VictimArgs {
  readonly store: { readonly kind: 'sqlite' | 'postgres'; readonly place: string };
  readonly effects: string;
  readonly story: 'order' | 'saga' | 'letter';
  /** The number of the commit. Absent: never. */
  readonly dieAt?: { readonly phase: 'before' | 'after'; readonly n: number };
}

const args = JSON.parse(process.argv[2] ?? '{}') as VictimArgs;
let commits = 0;

const store = await open();
const { order, item } = crashPipelines(args.effects);
const saga = sagaPipeline(args.effects);
const letter = letterPipeline(args.effects);
const holdfast = new Holdfast({ store, parkAfterMs: 20 });
await holdfast.worker({
  pipelines: [order, item, saga, letter],
  concurrency: 1,
  ttlMs: 300,
  pollMs: 100,
});
const chosen = { order, saga, letter }[args.story];
const handle = await holdfast.submit(chosen, 4, { key: 'the order' });
if (args.story === 'saga') await refuse(holdfast, handle.id);
const output = await handle.result().catch((error: { readonly status?: string }) => error.status);
await holdfast.close();
await store.close();
console.log(JSON.stringify({ id: handle.id, output, commits }));

function onBoundary(phase: 'before' | 'after', n: number): void {
  commits = n;
  const { dieAt } = args;
  if (dieAt !== undefined && dieAt.phase === phase && dieAt.n === n) {
    process.kill(process.pid, 'SIGKILL');
    // The signal is on its way. Nothing may happen before it arrives.
    for (;;);
  }
}

async function open(): Promise<CoordinatorStore> {
  const { kind, place } = args.store;
  const policy = { ttlMsMin: 100 };
  if (kind === 'sqlite') {
    const { openSqliteStore } = await import('../../src/store/sqlite/open.ts');
    return openSqliteStore({ file: place, policy, onBoundary });
  }
  const { openPostgresStore } = await import('../../src/store/postgres/open.ts');
  const url = new URL(place);
  const schema = url.hash.slice(1);
  url.hash = '';
  return openPostgresStore({ url: url.href, schema, policy, onBoundary, connectionsMax: 4 });
}
