// A process that submits the order or the saga, runs it, and prints how it ended. On request it
// kills itself at one commit.

import { Holdfast } from '../../src/engine/holdfast.ts';
import { crashPipelines, leasedPipeline } from './pipelines.ts';
import { letterPipeline, refuse, sagaPipeline } from './saga.ts';
import { openVictimStore, type VictimArgs } from './victim-store.ts';

export interface StoryArgs extends VictimArgs {
  readonly effects: string;
  readonly story: 'order' | 'saga' | 'letter' | 'leased';
}

const args = JSON.parse(process.argv[2] ?? '{}') as StoryArgs;
const { store, commits } = await openVictimStore(args);
const { order, item } = crashPipelines(args.effects);
const saga = sagaPipeline(args.effects);
const letter = letterPipeline(args.effects);
const leased = leasedPipeline(args.effects);
const holdfast = new Holdfast({ store, parkAfterMs: 20 });
await holdfast.worker({
  pipelines: [order, item, saga, letter, leased],
  concurrency: 1,
  ttlMs: 300,
  pollMs: 100,
});
const chosen = { order, saga, letter, leased }[args.story];
const handle = await holdfast.submit(chosen, 4, { key: 'the order' });
if (args.story === 'saga') await refuse(holdfast, handle.id);
const output = await handle.result().catch((error: { readonly status?: string }) => error.status);
await holdfast.close();
await store.close();
console.log(JSON.stringify({ id: handle.id, output, commits: commits() }));
