import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from '../../contract/testing/test-holdfast.ts';
import { type Context, pipeline, question } from '../../src/index.ts';

const remind = pipeline({ name: 'remind', run: (_, { who }: { who: string }) => who });
const wake = pipeline({ name: 'wake', run: () => 1 });
const approve = question<{ amount: number }, { ok: boolean }>({ name: 'approve' });

const order = pipeline({
  name: 'order',
  awaits: [approve],
  run: (ctx) =>
    ctx.await(approve, {
      request: { amount: 5 },
      reminders: [{ afterMs: 60_000, pipeline: remind, input: { who: 'ann' } }],
      escalations: [
        { afterMs: 120_000, pipeline: wake },
        { afterMs: 120_000, pipeline: 'by-name', input: 4 },
      ],
    }),
});

/** `npm run types` fails here if the compiler accepts one of these. */
export const refused: readonly ((ctx: Context) => Promise<unknown>)[] = [
  (ctx) =>
    ctx.await(approve, {
      // @ts-expect-error the pipeline takes another input
      reminders: [{ afterMs: 1, pipeline: remind, input: { guest: 'ann' } }],
    }),
  (ctx) =>
    ctx.await('approve', {
      // @ts-expect-error the pipeline takes an input
      escalations: [{ afterMs: 1, pipeline: remind }],
    }),
  (ctx) =>
    ctx.await(approve, {
      items: [{ amount: 5 }],
      reminders: [
        { afterMs: 1, pipeline: wake },
        // @ts-expect-error the second pipeline takes another input
        { afterMs: 2, pipeline: remind, input: { guest: 'ann' } },
      ],
    }),
];

test('a reminder has an input of the type that its pipeline takes', async () => {
  await using time = await openTestHoldfast({ pipelines: [order, remind, wake] });
  await time.holdfast.submit(order, undefined);
  await time.advance(0);
  await time.advance(60_000);
  const { items } = await time.holdfast.list({ pipeline: 'remind' });
  assert.deepEqual(
    items.map(({ status }) => status),
    ['completed'],
  );
});
