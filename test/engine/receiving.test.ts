import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from '../../contract/index.ts';
import type { Context } from '../../src/engine/context.ts';
import { pipeline } from '../../src/engine/pipeline.ts';

const HOUR_MS = 3_600_000;

/** Runs `code` on a manual clock; `during` acts on the execution between two hours. */
async function hourly(
  code: (ctx: Context) => Promise<unknown>,
  during: readonly ((send: (value: unknown) => Promise<unknown>) => unknown)[],
  restarts = false,
): Promise<unknown> {
  const listener = pipeline({ name: 'listener', run: (ctx) => code(ctx) });
  await using stage = await openTestHoldfast({ pipelines: [listener] });
  const { holdfast } = stage;
  const handle = await holdfast.submit(listener, undefined);
  const send = (value: unknown) => holdfast.signal(handle.id, { name: 'm', value });
  for (const operation of during) {
    await stage.advance(1);
    await operation(send);
    if (restarts) await stage.restart();
    await stage.advance(HOUR_MS - 1);
  }
  await stage.advance(HOUR_MS);
  return handle.result();
}

const nothing = () => undefined;

for (const restarts of [false, true]) {
  const when = restarts ? ', also when workers are replaced' : '';

  test(`X-49: a receive with a time limit gets a message in time, and undefined otherwise${when}`, async () => {
    const got = await hourly(
      async (ctx) => [
        await ctx.receive('m', { timeoutMs: 1.5 * HOUR_MS }),
        (await ctx.receive('m', { timeoutMs: 1.5 * HOUR_MS })) ?? 'nothing',
      ],
      [nothing, (send) => send('first'), nothing, nothing, (send) => send('too late')],
      restarts,
    );
    assert.deepEqual(got, ['first', 'nothing']);
  });

  test(`X-49: a receive whose time is over is withdrawn: the next one gets the next message${when}`, async () => {
    const got = await hourly(
      async (ctx) => {
        const late = await ctx.receive('m', { timeoutMs: HOUR_MS / 2 });
        await ctx.sleep(HOUR_MS);
        return [late ?? 'nothing', await ctx.receive('m'), await ctx.receive('m')];
      },
      [nothing, (send) => send(1), (send) => send(2)],
      restarts,
    );
    assert.deepEqual(got, ['nothing', 1, 2]);
  });

  test(`X-49: a message that comes after a receive has lost its race goes to the next one${when}`, async () => {
    const got = await hourly(
      async (ctx) => {
        const values: unknown[] = [];
        while (values.length < 3) {
          const limit = ctx.sleep(HOUR_MS / 2).then(() => null);
          const value = await Promise.race([ctx.receive('m'), limit]);
          if (value === null) await ctx.sleep(HOUR_MS, 'busy');
          else values.push(value);
        }
        return values;
      },
      [nothing, (send) => send(1), nothing, (send) => send(2), (send) => send(3), nothing, nothing],
      restarts,
    );
    assert.deepEqual(got, [1, 2, 3]);
  });
}

test('X-49: a receive without waiting time gets a message that is already there', async () => {
  const got = await hourly(
    async (ctx) => {
      await ctx.sleep(1.5 * HOUR_MS);
      const first = await ctx.receive('m', { timeoutMs: 0 });
      return [first, (await ctx.receive('m', { timeoutMs: 0 })) ?? 'nothing'];
    },
    [nothing, (send) => send(1), nothing],
  );
  assert.deepEqual(got, [1, 'nothing']);
});

test('X-49: a receive that lost a race and is kept gets its message when it is awaited again', async () => {
  const got = await hourly(
    async (ctx) => {
      const kept = ctx.receive('m');
      const first = await Promise.race([kept, ctx.sleep(HOUR_MS / 2)]);
      await ctx.sleep(HOUR_MS);
      return [first ?? 'nothing', await kept, await ctx.receive('m')];
    },
    [nothing, (send) => send(1), (send) => send(2)],
  );
  assert.deepEqual(got, ['nothing', 1, 2]);
});

test('X-49: a receive that is raced again is not lost', async () => {
  const got = await hourly(
    async (ctx) => {
      const kept = ctx.receive('m');
      for (;;) {
        const value = await Promise.race([kept, ctx.sleep(HOUR_MS / 2)]);
        if (value !== undefined) return value;
      }
    },
    [nothing, (send) => send(1)],
  );
  assert.equal(got, 1);
});

test('X-49: a receive with a listener outside a race gets its message at once, and once', async () => {
  const got = await hourly(
    async (ctx) => {
      const values: unknown[] = [];
      const listening = ctx.receive('m').then((value) => values.push(value));
      await Promise.race([listening, ctx.sleep(HOUR_MS / 2)]);
      const [both] = await Promise.all([ctx.receive('m'), ctx.sleep(3 * HOUR_MS)]);
      return [values, both, (await ctx.receive('m', { timeoutMs: HOUR_MS })) ?? 'nothing'];
    },
    [nothing, (send) => send(1), (send) => send(2), nothing, nothing],
  );
  assert.deepEqual(got, [[1], 2, 'nothing']);
});
