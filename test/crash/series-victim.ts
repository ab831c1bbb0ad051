// A process that submits executions one after the other to its own idle worker, so that claims join
// submits. It prints each id as soon as the submit is acknowledged. On request it kills
// itself at one commit.

import { appendFileSync, writeSync } from 'node:fs';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openVictimStore, type VictimArgs } from './victim-store.ts';

export interface SeriesArgs extends VictimArgs {
  readonly effects: string;
  readonly executions: number;
  /** A short one lets the next process take over soon; a long one adds no heartbeats and polls. */
  readonly ttlMs: number;
}

const args = JSON.parse(process.argv[2] ?? '{}') as SeriesArgs;
const { store, commits } = await openVictimStore(args);
const noted = pipeline({
  name: 'noted',
  run: (ctx, nth: number) =>
    ctx.step('note', ({ fence }) => {
      appendFileSync(args.effects, `${JSON.stringify({ key: String(nth), fence })}\n`);
      return nth;
    }),
});
const holdfast = new Holdfast({ store });
await holdfast.worker({ pipelines: [noted], ttlMs: args.ttlMs, pollMs: args.ttlMs / 3 });
for (let nth = 0; nth < args.executions; nth += 1) {
  const handle = await holdfast.submit(noted, nth, { key: String(nth) });
  writeSync(1, `${handle.id}\n`);
  if ((await handle.result()) !== nth) throw new Error(`Execution ${nth} has another result.`);
}
await holdfast.close();
await store.close();
writeSync(1, `commits ${commits()}\n`);
