// With a codec, a value can be read only in the place that it was sealed for. This holds against a
// writer to the store without the key.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { aesCodec } from '../../src/engine/values/aes-codec.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const KEYS = [{ id: 'k', key: new Uint8Array(32).fill(9) }];
const codec = aesCodec(KEYS);

interface Stage {
  readonly holdfast: Holdfast;
  /** Writes to the file as an intruder without a key. */
  readonly sql: (text: string) => readonly Record<string, unknown>[];
  readonly paid: string[];
}

const order = (paid: string[]) =>
  pipeline({
    name: 'order',
    async run(ctx, input: { readonly to: string }) {
      const quote = await ctx.step('quote', () => `quote for ${input.to}`);
      await ctx.receive('go');
      await ctx.step('pay', () => void paid.push(quote));
      return quote;
    },
  });

async function onFile(
  options: { readonly codec: typeof codec },
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-moved-'));
  const file = join(folder, 'hf.db');
  const store = await openSqliteStore({ file });
  const holdfast = new Holdfast({ store, ...options });
  try {
    const sql = (text: string) => {
      const database = new DatabaseSync(file);
      try {
        return database.prepare(text).all() as Record<string, unknown>[];
      } finally {
        database.close();
      }
    };
    await play({ holdfast, sql, paid: [] });
  } finally {
    await holdfast.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function until(holdfast: Holdfast, id: string, status: string): Promise<void> {
  for (;;) {
    const found = await holdfast.read(id);
    if (found?.status === status || found?.holds.includes(status as never)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The reason of the blocked execution, as text. */
async function whyBlocked(holdfast: Holdfast, id: string): Promise<string> {
  await until(holdfast, id, 'blocked');
  const events = await holdfast.history(id);
  return events.findLast(({ kind }) => kind === 'blocked')?.body ?? '';
}

test('X-50: an input that was pasted from another execution is not read', () =>
  onFile({ codec }, async ({ holdfast, sql, paid }) => {
    const alice = await holdfast.submit('order', { to: 'alice' });
    const mallory = await holdfast.submit('order', { to: 'mallory' });
    const rowOf = (id: string): string => `(select row_id from execution where id = '${id}')`;
    sql(
      `update input set input = (select input from input where row_id = ${rowOf(mallory.id)})
        where row_id = ${rowOf(alice.id)}`,
    );
    await holdfast.worker({ pipelines: [order(paid)], pollMs: 20 });
    assert.match(await whyBlocked(holdfast, alice.id), /encrypted for .*copied there in the store/);
    await until(holdfast, mallory.id, 'waiting');
  }));

test('X-50: a step result that was pasted from another execution, or from another step, is not read', () =>
  onFile({ codec }, async ({ holdfast, sql, paid }) => {
    const worker = await holdfast.worker({ pipelines: [order(paid)], pollMs: 20 });
    const alice = await holdfast.submit('order', { to: 'alice' });
    const mallory = await holdfast.submit('order', { to: 'mallory' });
    for (const { id } of [alice, mallory]) await until(holdfast, id, 'waiting');
    await worker.stop();
    const quote = (id: string): string =>
      `row_id = (select row_id from execution where id = '${id}') and kind = 'step-completed'`;
    sql(
      `update history set body = (select body from history where ${quote(mallory.id)})
        where ${quote(alice.id)}`,
    );
    await holdfast.worker({ pipelines: [order(paid)], pollMs: 20 });
    for (const { id } of [alice, mallory]) await holdfast.signal(id, { name: 'go' });
    assert.equal(await mallory.result(), 'quote for mallory');
    assert.match(await whyBlocked(holdfast, alice.id), /encrypted for .*copied there in the store/);
    assert.deepEqual(paid, ['quote for mallory']);
    // The codec rejects an envelope that names another place than the sealed one.
    sql(
      `update history set body = replace(body, '${mallory.id} 0/', '${alice.id} 0/')
        where ${quote(alice.id)}`,
    );
    const [row] = sql(`select body from history where ${quote(alice.id)}`);
    assert.match(String(row?.['body']), new RegExp(alice.id));
    await holdfast.resume(alice.id);
    await until(holdfast, alice.id, 'blocked');
    assert.deepEqual(paid, ['quote for mallory']);
  }));

test('X-50, X-80: a value stored in the clear is refused if the codec is required, and read if it is not', async () => {
  for (const required of [false, true]) {
    await onFile({ codec: aesCodec(KEYS, { required }) }, async ({ holdfast, sql, paid }) => {
      const { id } = await holdfast.submit('order', { to: 'alice' });
      sql(`update input set input = '{"v":{"to":"eve"}}'`);
      await holdfast.worker({ pipelines: [order(paid)], pollMs: 20 });
      if (required) assert.match(await whyBlocked(holdfast, id), /stored without a codec/);
      else await until(holdfast, id, 'waiting');
    });
  }
});

test('X-50: an attachment that was swapped with that of another execution, or of another name, is not read', () =>
  onFile({ codec }, async ({ holdfast, sql }) => {
    const contract = pipeline({
      name: 'contract',
      async run(ctx, input: string) {
        await ctx.attach('terms', `terms of ${input}`);
        await ctx.attach('price', `price of ${input}`);
      },
    });
    await holdfast.worker({ pipelines: [contract], pollMs: 20 });
    const [alice, mallory] = [
      await holdfast.submit(contract, 'alice'),
      await holdfast.submit(contract, 'mallory'),
    ];
    for (const { result } of [alice, mallory]) await result();
    const read = async (name: string): Promise<string> =>
      Buffer.from((await holdfast.attachment(alice.id, name)) ?? []).toString();
    assert.deepEqual(
      [await read('terms'), await read('price')],
      ['terms of alice', 'price of alice'],
    );
    const paste = (to: string, id: string, name: string): void => {
      const from = `select bytes from attachment where execution_id = '${id}' and name = '${name}'`;
      sql(
        `update attachment set bytes = (${from}) where execution_id = '${alice.id}' and name = '${to}'`,
      );
    };
    paste('terms', mallory.id, 'terms');
    await assert.rejects(read('terms'), { code: 'codec-refused' });
    paste('terms', alice.id, 'price');
    await assert.rejects(read('terms'), { code: 'codec-refused' });
    // Sealed before the place was part of the seal.
    const { bytes } = await codec.encode(Buffer.from('old terms'));
    sql(`update attachment set bytes = x'${Buffer.from(bytes).toString('hex')}'`);
    assert.equal(await read('terms'), 'old terms');
  }));

test('a value that a codec sealed without its place can still be read', () =>
  onFile({ codec }, async ({ holdfast, sql, paid }) => {
    const { id } = await holdfast.submit('order', { to: 'alice' });
    const { by, bytes } = await codec.encode(Buffer.from('{"to":"bob"}'));
    const enc = Buffer.from(bytes).toString('base64');
    sql(`update input set input = '${JSON.stringify({ enc, by })}'`);
    await holdfast.worker({ pipelines: [order(paid)], pollMs: 20 });
    await holdfast.signal(id, { name: 'go' });
    assert.equal(await holdfast.result(id), 'quote for bob');
  }));

test('values are read wherever the engine itself uses them', async () => {
  const child = pipeline({ name: 'child', run: async (_, input: number) => input + 1 });
  let isBroken = true;
  const all = pipeline({
    name: 'all',
    async run(ctx, input: { readonly n: number }) {
      const first = await ctx.step('first', () => input.n + 1);
      const second = await (await ctx.spawn(child, first)).result();
      await ctx.checkpoint({ second });
      await ctx.step(
        'breaks',
        () => {
          if (isBroken) throw new Error('broken');
        },
        { retry: { attempts: 1 } },
      );
      if (input.n < 10) return ctx.continueAsNew({ n: input.n + 10 });
      return { second };
    },
  });
  const holdfast = new Holdfast({
    store: openMemoryStore(),
    codec: aesCodec(KEYS, { required: true }),
  });
  try {
    await holdfast.worker({ pipelines: [all, child], pollMs: 20 });
    await holdfast.templates.put({ id: 'a b', version: 1, pipeline: 'all', defaults: { n: 1 } });
    const failing = await holdfast.submit({ template: 'a b' }, {});
    await assert.rejects(failing.result(), /broken/);
    isBroken = false;
    const { id } = await holdfast.repair.redrive(failing.id, {});
    assert.deepEqual(await holdfast.result(id), { second: 13 });
    await holdfast.schedules.put({ id: 's 1', every: 100, pipeline: 'all', input: { n: 20 } });
    for (;;) {
      const { items } = await holdfast.list({ pipeline: 'all', status: 'completed' });
      const fired = items.find(({ scheduled }) => scheduled !== undefined);
      if (fired !== undefined) {
        assert.deepEqual(await holdfast.result(fired.id), { second: 22 });
        break;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    await holdfast.close();
  }
});
