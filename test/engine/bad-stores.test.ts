// Stores in trouble: permanent refusals, broken rows, short outages. No execution may stay running
// under a worker that has given it up.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HoldfastOptions } from '../../src/engine/config.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';
import type { ExecutionStore, OwnerWrite } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { Fault, StoreCorrupt, StoreUnavailable } from '../../src/support/fault.ts';
import { pause } from './stage.ts';

async function on(
  change: (executions: ExecutionStore) => Partial<ExecutionStore>,
  work: (
    holdfast: Holdfast,
    run: (code: Pipeline<unknown, unknown>) => Promise<string>,
  ) => Promise<void>,
  options: Omit<HoldfastOptions, 'store'> = {},
): Promise<void> {
  const memory = openMemoryStore();
  const { executions } = memory;
  const store = { ...memory, executions: { ...executions, ...change(executions) } };
  const holdfast = new Holdfast({ store, ...options });
  try {
    await work(holdfast, async (code) => {
      await holdfast.worker({ pipelines: [code], pollMs: 20, ttlMs: 3_000 });
      return (await holdfast.submit(code, undefined)).id;
    });
  } finally {
    await holdfast.close();
    await store.close();
  }
}

const soon = () => ({ signal: AbortSignal.timeout(10_000) });

test('a step result that the store can never take fails the execution, with the reason', async () => {
  await on(
    (executions) => ({
      record: async (request) => executions.record(refusingOdd(request)),
      finish: async (request) => executions.finish(refusingOdd(request)),
    }),
    async (holdfast, run) => {
      const odd = pipeline({ name: 'odd', run: (ctx) => ctx.step('odd', () => 1) });
      const id = await run(odd);
      await assert.rejects(holdfast.result(id, soon()), { message: /cannot be stored/ });
    },
  );
});

function refusingOdd<Request extends OwnerWrite>(request: Request): Request {
  if (!request.events.some(({ name }) => name === 'odd')) return request;
  throw new Fault('store-rejected', 'This cannot be stored.');
}

const refusingOutputs: Parameters<typeof on>[0] = (executions) => ({
  finish: async (request) => {
    if (request.status === 'completed') throw new Fault('store-rejected', 'Not this one.');
    return executions.finish(request);
  },
});

test('X-101: the last step is recorded when the store cannot take the output after it', async () => {
  await on(refusingOutputs, async (holdfast, run) => {
    const id = await run(pipeline({ name: 'plain', run: (ctx) => ctx.step('paid', () => 1) }));
    await assert.rejects(holdfast.result(id, soon()), { message: /Not this one/ });
    const kinds = (await holdfast.history(id)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['submitted', 'claimed', 'step-completed', 'failed']);
  });
});

test('an output that the store cannot take fails the execution too', async () => {
  await on(refusingOutputs, async (holdfast, run) => {
    const id = await run(pipeline({ name: 'plain', run: () => 1 }));
    await assert.rejects(holdfast.result(id, soon()), { message: /Not this one/ });
  });
});

test('a history that cannot be read blocks the execution, which can be resumed', async () => {
  let isBroken = true;
  await on(
    (executions) => ({
      history: async (query) => {
        if (isBroken) throw new StoreCorrupt('The page is gone.');
        return executions.history(query);
      },
    }),
    async (holdfast, run) => {
      const id = await run(
        pipeline({
          name: 'broken',
          async run(ctx) {
            await ctx.receive('go');
            return 'read after all';
          },
        }),
      );
      while ((await holdfast.read(id))?.status !== 'waiting') await pause(5);
      await holdfast.signal(id, { name: 'go' });
      while ((await holdfast.read(id))?.holds.includes('blocked') !== true) await pause(5);
      isBroken = false;
      await holdfast.resume(id);
      assert.equal(await holdfast.result(id, soon()), 'read after all');
    },
  );
});

test('a submit of a large input rejects at once while the store is away', async () => {
  await on(
    () => ({ putBlob: () => Promise.reject(new StoreUnavailable('Away for a moment.')) }),
    async (holdfast) => {
      const large = 'x'.repeat(5_000);
      const away = { name: 'StoreUnavailable' };
      await assert.rejects(holdfast.submit('large', large), away);
      const put = { id: 'large', pipeline: 'large' } as const;
      await assert.rejects(holdfast.templates.put({ ...put, version: 1, defaults: large }), away);
      await assert.rejects(holdfast.schedules.put({ ...put, every: 1_000, input: large }), away);
    },
    { payloads: { inlineBytesMax: 1_000 } },
  );
});

test('a store that is away while a large result is stored does not make the step run again', async () => {
  let failures = 3;
  let ran = 0;
  await on(
    (executions) => ({
      putBlob: async (blob) => {
        failures -= 1;
        if (failures >= 0) throw new StoreUnavailable('Away for a moment.');
        await executions.putBlob(blob);
      },
    }),
    async (holdfast, run) => {
      const large = pipeline({
        name: 'large',
        run: (ctx) =>
          ctx.step('make', () => {
            ran += 1;
            return 'x'.repeat(5_000);
          }),
      });
      const id = await run(large);
      assert.equal(String(await holdfast.result(id, soon())).length, 5_000);
      assert.equal(ran, 1);
    },
    { payloads: { inlineBytesMax: 1_000 } },
  );
});
