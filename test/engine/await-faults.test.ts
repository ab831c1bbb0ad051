import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore, type StoreFault } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { pause } from './stage.ts';

const VERBS = ['record', 'park', 'inbox', 'expireAwaits', 'interaction', 'finish', 'claim'];
const FAULTS: readonly StoreFault[] = ['unavailable', 'lost-answer'];

for (const fault of FAULTS) {
  test(`awaits settle once although every verb fails now and then: ${fault}`, async () => {
    const memory = openMemoryStore();
    const faults = faultyStore<CoordinatorStore>(memory);
    const holdfast = new Holdfast({ store: faults.store, parkAfterMs: 20 });
    const outside = new Holdfast({ store: memory });
    const asking = pipeline({
      name: 'asking',
      async run(ctx) {
        const first = await ctx.await<string>('first');
        const second = await ctx.await('second', { timeoutMs: 60 });
        const third = await ctx.await('third', { timeoutMs: 60, default: 'nobody' });
        return [first, second, third].map((each) =>
          each.kind === 'answered' ? each.value : each.kind,
        );
      },
    });
    await holdfast.worker({ pipelines: [asking], pollMs: 20, ttlMs: 5_000 });
    for (const verb of VERBS) {
      faults.fail(`executions.${verb}`, fault, 2);
      const { id } = await outside.submit(asking, undefined);
      const target = { execution: id, name: 'first' };
      while ((await outside.awaits.get(target)) === undefined) await pause(5);
      await outside.awaits.answer(target, verb);
      assert.deepEqual(await outside.result(id), [verb, 'timed-out', 'nobody']);
      const kinds = (await outside.history(id)).map(({ kind }) => kind);
      assert.equal(kinds.filter((kind) => kind === 'await-opened').length, 3);
      assert.equal(kinds.filter((kind) => kind === 'await-settled').length, 3);
    }
    await holdfast.close();
    await outside.close();
    await memory.close();
  });
}
