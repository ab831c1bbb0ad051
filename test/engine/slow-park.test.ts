import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { type AnyPipeline, pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { OutcomeUnknown } from '../../src/support/fault.ts';

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

test('a worker that does not know whether its park happened begins no attempt of a step (P2)', async (t) => {
  const memory = openMemoryStore();
  const { executions } = memory;
  const parked = Promise.withResolvers<void>();
  const parkedAgain = Promise.withResolvers<void>();
  let isLost = true;
  let parksBesideSuccessor = 0;
  const attempts: string[] = [];
  const store = {
    ...memory,
    executions: {
      ...executions,
      park: async (request: Parameters<typeof executions.park>[0]) => {
        const reply = await executions.park(request);
        parked.resolve();
        if (attempts.includes('successor') && ++parksBesideSuccessor === 2) parkedAgain.resolve();
        if (isLost) throw new OutcomeUnknown('The reply was lost.');
        return reply;
      },
    },
  };
  const flakyOf = (worker: string): AnyPipeline =>
    pipeline({
      name: 'flaky',
      run: (ctx) =>
        ctx.step(
          'try',
          async () => {
            attempts.push(worker);
            if (worker === 'first' && attempts.length === 1) throw new Error('not yet');
            await parkedAgain.promise;
          },
          // Long beside `parkAfterMs`, so that a busy machine parks before the retry is due.
          { retry: { attempts: 3, initialMs: 500 } },
        ),
    }) as AnyPipeline;
  const first = new Holdfast({ store, parkAfterMs: 20 });
  const successor = new Holdfast({ store: memory });
  t.after(async () => {
    isLost = false;
    await Promise.all([first.close(), successor.close()]);
    await memory.close();
  });
  // Its only slot is taken until it knows that it has parked, so it claims nothing else.
  const alone = { concurrency: 1, pollMs: 20, ttlMs: 3_000 };
  await first.worker({ pipelines: [flakyOf('first')], ...alone });
  const handle = await first.submit('flaky', undefined);
  await parked.promise;
  await successor.worker({ pipelines: [flakyOf('successor')], pollMs: 10, ttlMs: 3_000 });
  await handle.result({ signal: AbortSignal.timeout(5_000) });
  assert.deepEqual(attempts, ['first', 'successor']);
});

test('a message that is read while a park is repeated reaches the code, and the park is refused (X-5)', async (t) => {
  const memory = openMemoryStore();
  const { executions } = memory;
  const read = Promise.withResolvers<void>();
  let parks = 0;
  const store = {
    ...memory,
    executions: {
      ...executions,
      inbox: async (query: Parameters<typeof executions.inbox>[0]) => {
        const page = await executions.inbox(query);
        if (page.length > 0) read.resolve();
        return page;
      },
      park: async (request: Parameters<typeof executions.park>[0]) => {
        parks += 1;
        if (parks > 1) return executions.park(request);
        await holdfast.signal(request.id, { name: 'letter', value: 'read' });
        await read.promise;
        throw new OutcomeUnknown('The request was lost.');
      },
    },
  };
  const holdfast = new Holdfast({ store, parkAfterMs: 20 });
  t.after(async () => {
    await holdfast.close();
    await memory.close();
  });
  const reading = pipeline({ name: 'reading', run: (ctx) => ctx.receive<string>('letter') });
  await holdfast.worker({ pipelines: [reading], ttlMs: 1_000 });
  const handle = await holdfast.submit(reading, undefined);
  assert.equal(await handle.result({ signal: AbortSignal.timeout(5_000) }), 'read');
});
