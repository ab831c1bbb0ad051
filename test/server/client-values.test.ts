// Values from a client arrive with their types, as in an embedded engine.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline } from '../../src/index.ts';
import { TestCoordinator } from './coordinator.ts';

/** With values beyond JSON, and values that look like a tag. */
const VALUE = {
  at: new Date(1_893_456_000_000),
  map: new Map<unknown, unknown>([['a', new Set([1n, -2n])]]),
  list: [undefined, Uint8Array.of(1, 2, 3)],
  like: { $date: 'tomorrow' },
};

test('X-48: inputs, signals, defaults and schedules of a client arrive unchanged', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const seen = Promise.withResolvers<readonly unknown[]>();
  const order = pipeline({
    name: 'order',
    run: async (ctx, input) => seen.resolve([input, await ctx.receive('paid')]),
  });
  await coordinator.worker([order]);
  const client = await coordinator.client(['submit', 'operate'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'order', input: VALUE });
  await client.executions.signal(id, 'paid', VALUE);
  assert.deepEqual(await seen.promise, [VALUE, VALUE]);
  await client.templates.put('usual', 1, { pipeline: 'order', defaults: VALUE });
  await client.schedules.put('nightly', { every: 60_000, pipeline: 'order', input: VALUE });
  const { executions } = coordinator.store;
  const project = 'default' as never;
  const template = await executions.template({ project, id: 'usual' as never });
  const schedule = await executions.schedule({ project, id: 'nightly' as never });
  for (const stored of [template?.defaults, schedule?.plan]) {
    assert.match(stored ?? '', /\$map/);
    assert.match(stored ?? '', /\$object/);
  }
});

test('X-48, X-89: a value that a client cannot send is refused with its path, before it is sent', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const client = await coordinator.client(['submit'], 'default');
  const send = (input: unknown) => client.executions.submit({ pipeline: 'order', input });
  await assert.rejects(send({ price: Number.NaN }), /value\.price is NaN/);
  await assert.rejects(send({ call: () => 1 }), /value\.call is a function/);
  await assert.rejects(send([10n ** 1_000n]), /value\[0\] is a bigint of more than 1000 digits/);
});

test('unreadable tags are refused, and long numbers before they are read', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const key = await coordinator.key(['submit'], 'default');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const inputs = [`{"$bigint":"${'9'.repeat(1_000_000)}"}`, '{"$bigint":"x"}', '{"$new":1}', deep];
  for (const input of inputs) {
    const body = `{"pipeline":"order","tagged":true,"input":${input}}`;
    const request = { method: 'POST', headers, body };
    const response = await fetch(`${coordinator.url}/v1/executions`, request);
    const { code } = (await response.json()) as { code?: string };
    assert.deepEqual([response.status, code], [400, 'invalid-input'], input.slice(0, 20));
  }
});
