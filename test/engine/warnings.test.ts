// Without an observer, failures and `ctx.log` reach stderr.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

async function warningsOf(
  t: TestContext,
  run: Parameters<typeof pipeline<undefined, unknown>>[0]['run'],
): Promise<readonly string[]> {
  const emitted = t.mock.method(process, 'emitWarning', () => undefined);
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const holdfast = new Holdfast({ store, clock, timers: clock.timers });
  const order = pipeline({ name: 'order', run, retry: { attempts: 2 } });
  const { id } = await holdfast.submit(order, undefined);
  await holdfast.worker({ pipelines: [order] });
  await clock.advance(1_000);
  assert.notEqual((await holdfast.read(id))?.endedAt, undefined);
  await holdfast.close();
  await store.close();
  return emitted.mock.calls.map((call) => String(call.arguments[0]).replace(id, 'ID'));
}

test('each failed attempt and the bad end are one warning, with file and line', async (t) => {
  const lines = await warningsOf(t, (ctx) =>
    ctx.step('charge', () => {
      throw new RangeError('no\nmoney\u001b[2J');
    }),
  );
  const reason = /RangeError: no money \[2J \(test\/engine\/warnings\.test\.ts:\d+\)$/;
  assert.deepEqual(
    lines.map((line) => line.replace(reason, 'REASON')),
    [
      'order ID: step "charge" failed, attempt 1: REASON',
      'order ID: step "charge" failed, attempt 2: REASON',
      'order ID: failed: REASON',
    ],
  );
});

test('an execution that completes warns of nothing', async (t) => {
  assert.deepEqual(await warningsOf(t, (ctx) => ctx.step('charge', () => 1)), []);
});

test('ctx.log without an observer is a line on stderr', async (t) => {
  const written = t.mock.method(process.stderr, 'write', () => true);
  await warningsOf(t, (ctx) => ctx.log('hello', { item: 'tent' }));
  const lines = written.mock.calls.map((call) => String(call.arguments[0]));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /^order \S+: hello \{"item":"tent"\}\n$/);
});
