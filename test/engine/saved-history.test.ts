import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replayHistory } from '../../contract/testing/replay-history.ts';
import { openTestHoldfast, type TestHoldfast } from '../../contract/testing/test-holdfast.ts';
import type { PayloadCodec } from '../../src/engine/values/payloads.ts';
import { type Context, type Handle, pipeline } from '../../src/index.ts';

/** Larger than what is stored with the event. */
const LARGE = 'x'.repeat(200_000);

async function orderCode(ctx: Context, input: string): Promise<string> {
  const charged = await ctx.step('charge', () => `${input}-${LARGE}`);
  await ctx.sleep(60_000);
  const note = await ctx.receive<string>('note');
  return `${charged.length} ${note}`;
}

const order = pipeline({ name: 'order', run: orderCode });

/** The same calls in another order. */
const moved = pipeline({
  name: 'order',
  async run(ctx, input: string) {
    await ctx.sleep(60_000);
    return ctx.step('charge', () => input);
  },
});

const reversing: PayloadCodec = {
  encode: (bytes) => ({ by: 'reversing', bytes: bytes.toReversed() }),
  decode: ({ bytes }) => bytes.toReversed(),
};

/** The history as a file has it. */
async function saved(
  codec: PayloadCodec | undefined,
  drive: (handle: Handle<string>, time: TestHoldfast) => Promise<void>,
) {
  await using time = await openTestHoldfast({ pipelines: [order], ...(codec && { codec }) });
  const handle = await time.holdfast.submit(order, 'ann', { key: 'order-1' });
  await time.advance(0);
  await drive(handle, time);
  assert.equal(await time.holdfast.saveHistory('key:other'), undefined);
  return JSON.parse(JSON.stringify(await time.holdfast.saveHistory('key:order-1')));
}

test('RE-10: a saved history replays with the same code, and other code differs at an event', async () => {
  const open = await saved(undefined, async () => {});
  const ended = await saved(undefined, async (handle, { holdfast, advance }) => {
    await holdfast.signal(handle.id, { name: 'note', value: 'thanks' });
    await advance(60_000);
    assert.equal(await handle.result(), `${LARGE.length + 4} thanks`);
  });
  const cancelled = await saved(undefined, async (handle, { holdfast, advance }) => {
    await holdfast.cancel(handle.id);
    await advance(0);
    await assert.rejects(handle.result());
  });
  for (const history of [open, ended, cancelled]) {
    assert.deepEqual(await replayHistory(order, history), { kind: 'same' });
    const other = await replayHistory(moved, history);
    assert.equal(other.kind, 'differs');
    assert.match(other.kind === 'differs' ? other.why : '', /History has .* but the code has/);
  }
});

test('RE-10: a replay names the call that the code makes in place of an open sleep', async () => {
  const history = await saved(undefined, async () => {});
  const renamed = pipeline({
    name: 'order',
    async run(ctx, input: string) {
      await ctx.step('charge', () => input);
      await ctx.sleep(60_000, 'cooling off');
    },
  });
  const replayed = await replayHistory(renamed, history);
  assert.equal(
    replayed.kind === 'differs' ? replayed.why.replace(/event \d+/, 'event N') : '',
    'History has sleep:sleep#1 at event N, but the code has sleep:cooling off#1 there.',
  );
});

test('a saved history with encrypted values needs its codec', async () => {
  const sealed = await saved(reversing, async () => {});
  assert.ok(!JSON.stringify(sealed).includes(LARGE));
  assert.deepEqual(await replayHistory(order, sealed, { codec: reversing }), { kind: 'same' });
  const without = await replayHistory(order, sealed);
  assert.match(without.kind === 'differs' ? without.why : '', /codec/);
});

test('a replay refuses other objects, and histories of other pipelines', async () => {
  const history = await saved(undefined, async () => {});
  const other = pipeline({ name: 'other', run: () => 1 });
  const wrong = [
    () => replayHistory(other, history),
    () => replayHistory(order, { ...history, format: 'another' }),
    () => replayHistory(order, undefined as never),
  ];
  for (const each of wrong) await assert.rejects(each, { name: 'InvalidInput' });
});
