// One execution that has ended, was archived and removed, with an attachment and a large value.

import type { Archive } from '../../../src/archive/port.ts';
import { Holdfast, pipeline } from '../../../src/index.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';

const LARGE = 70_000;

const invoice = pipeline({
  name: 'invoice',
  async run(ctx, { total }: { readonly total: number }) {
    await ctx.step('write', () => `${total} francs. ${'.'.repeat(LARGE)}`);
    await ctx.attach('invoice.txt', `Pay ${total} francs.`);
    return ctx.step('send', () => 'sent');
  },
});

export async function plantArchived(store: CoordinatorStore, archive: Archive): Promise<string> {
  const holdfast = new Holdfast({ store, retention: { archive, keepMs: { completed: 0 } } });
  const worker = await holdfast.worker({ pipelines: [invoice] });
  const options = { key: 'Invoice-4711 Bern', tags: ['paid'] };
  const { id, result } = await holdfast.submit(invoice, { total: 17 }, options);
  await result();
  await worker.stop();
  await holdfast.archive.run();
  await holdfast.close();
  return id;
}
