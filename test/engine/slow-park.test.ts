import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

test('a timer that fires while its park is under way neither overtakes it nor is lost', async () => {
  const memory = openMemoryStore();
  const { executions } = memory;
  const store = {
    ...memory,
    executions: {
      ...executions,
      // Longer than the sleep: the timer is due before the store has the park.
      park: async (request: Parameters<typeof executions.park>[0]) => {
        await new Promise((resolve) => setTimeout(resolve, 80));
        return executions.park(request);
      },
    },
  };
  const holdfast = new Holdfast({ store, parkAfterMs: 20 });
  const napping = pipeline({
    name: 'napping',
    async run(ctx) {
      await ctx.sleep(40);
      return 'awake';
    },
  });
  await holdfast.worker({ pipelines: [napping], pollMs: 20, ttlMs: 3_000 });
  const handle = await holdfast.submit(napping, undefined);
  assert.equal(await handle.result({ signal: AbortSignal.timeout(5_000) }), 'awake');
  await holdfast.close();
  await store.close();
});
