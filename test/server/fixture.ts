// A coordinator with something in it: executions in several states, a worker's session, keys.

import { HoldfastClient } from '../../src/client/client.ts';
import { Holdfast, pipeline } from '../../src/index.ts';
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

export async function plant(store: CoordinatorStore): Promise<Planted> {
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
  return { known: [failed.id, waiting.id, queued.id, session, ...interactions] };
}

export function clientOf(url: string, key?: string): HoldfastClient {
  return new HoldfastClient({ url, ...(key === undefined ? {} : { key }) });
}
