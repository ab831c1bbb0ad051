// A coordinator with some content: executions in several states, a worker's session, keys.

import { HoldfastClient } from '../../src/client/client.ts';
import { type Archive, Holdfast, pipeline } from '../../src/index.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

export interface Planted {
  /** Ids that exist. */
  readonly known: readonly string[];
}

const asks = pipeline({
  name: 'asks',
  async run(ctx, input: { readonly fails?: boolean }) {
    await ctx.step('one', () => 1);
    if (input.fails === true) throw new Error('as asked');
    await ctx.await('approval');
    return 'done';
  },
});

const quick = pipeline({ name: 'quick', run: () => 1 });

export async function plant(store: CoordinatorStore, archive?: Archive): Promise<Planted> {
  const archived = archive === undefined ? [] : [await plantArchived(store, archive)];
  const holdfast = new Holdfast({ store });
  const worker = await holdfast.worker({ pipelines: [asks], pollMs: 20 });
  const failed = await holdfast.submit(asks, { fails: true });
  await failed.result().catch(() => undefined);
  const waiting = await holdfast.submit(asks, {}, { key: 'order/1', tags: ['planted'] });
  for (let status = ''; status !== 'waiting'; ) {
    status = (await holdfast.read(waiting.id))?.status ?? '';
    await new Promise((resolve) => setImmediate(resolve));
  }
  const queued = await holdfast.submit('nobody-runs-this', { n: 1 });
  const { items } = await holdfast.awaits.list();
  const { session } = worker;
  await worker.stop();
  await holdfast.close();
  const interactions = items.map((each) => String(each.id));
  return { known: [failed.id, waiting.id, queued.id, session, ...interactions, ...archived] };
}

/** An archived execution, whose rows are gone. */
async function plantArchived(store: CoordinatorStore, archive: Archive): Promise<string> {
  const holdfast = new Holdfast({ store, retention: { archive, keepMs: { completed: 0 } } });
  const worker = await holdfast.worker({ pipelines: [quick], pollMs: 20 });
  const { id, result } = await holdfast.submit(quick, undefined, { key: 'archived/1' });
  await result();
  await worker.stop();
  await holdfast.archive.run();
  await holdfast.close();
  return id;
}

export function clientOf(url: string, key?: string): HoldfastClient {
  return new HoldfastClient({ url, ...(key === undefined ? {} : { key }) });
}
