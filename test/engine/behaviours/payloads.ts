import assert from 'node:assert/strict';
import type { HoldfastOptions } from '../../../src/engine/config.ts';
import type { Context } from '../../../src/engine/context.ts';
import type { Handle, Holdfast } from '../../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import { aesCodec } from '../../../src/engine/values/aes-codec.ts';
import type { PayloadCodec } from '../../../src/engine/values/payloads.ts';
import type { Behaviour, Stage } from '../stage.ts';

const echo = pipeline<unknown, unknown>({
  name: 'echo',
  async run(ctx, input) {
    const echoed = await ctx.step('echo', () => input);
    await ctx.receive('go');
    return echoed;
  },
});

async function attachedBy(
  stage: Stage,
  holdfast: Holdfast,
  code: Pipeline<string, void>,
): Promise<Handle<void>> {
  const worker = await stage.worker(holdfast, [code]);
  const handle = await holdfast.submit(code, 'doc');
  await handle.result();
  await worker.stop();
  return handle;
}

class Rows extends Array<number> {
  command = 'select';
}

/** Values that JSON cannot express. */
const BEYOND_JSON = {
  at: new Date(86_400_000),
  never: new Date(Number.NaN),
  total: 2n ** 70n,
  missing: [1, undefined, null],
  stock: new Map<unknown, unknown>([
    ['tent', new Set([1, { size: 'L' }])],
    [new Date(0), undefined],
  ]),
  bytes: new Uint8Array([0, 255]),
  samples: new Float64Array([0.5, -1]),
  buffer: Buffer.from('text'),
  raw: new Uint8Array([1, 2]).buffer,
  // Data that looks like a tag.
  tags: [{ $date: 'today' }, { $object: { $map: 1 } }, { $a: 1, $b: 2 }],
  ['__proto__']: 7,
};

/** Values that JSON drops or rounds. */
const LESSENED: readonly (() => unknown)[] = [
  () => ({ kept: 1, gone: undefined, deep: [{ gone: undefined }] }),
  () => -0,
  () => ({ n: [1, -0] }),
  () => Object.assign(Object.create(null), { a: 1 }),
  () => 'a1'.match(/\d/),
  () => [Rows.from([1, 2])],
];

/** The values that the code gets each time it runs. */
function remembering(run: (ctx: Context, make: () => unknown) => Promise<unknown>) {
  const seen: unknown[][] = [];
  const code = pipeline({
    name: 'remembering',
    async run(ctx) {
      const given: unknown[] = [];
      for (const make of LESSENED) given.push(await run(ctx, make));
      seen.push(given);
      await ctx.receive('go');
    },
  });
  return { code, seen };
}

async function sameInReplay(
  stage: Stage,
  options: Pick<HoldfastOptions, 'codec' | 'payloads'>,
  run: (ctx: Context, make: () => unknown) => Promise<unknown>,
): Promise<void> {
  const holdfast = stage.holdfast(options);
  const { code, seen } = remembering(run);
  const worker = await stage.worker(holdfast, [code]);
  const handle = await holdfast.submit(code, undefined);
  await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
  await stage.crash(worker);
  const next = await stage.worker(holdfast, [code]);
  await holdfast.signal(handle.id, { name: 'go' });
  await handle.result();
  await next.stop();
  assert.equal(seen.length, 2);
  assert.deepEqual(seen[0], seen[1]);
  assert.deepEqual(
    seen[0],
    LESSENED.map((make) => JSON.parse(JSON.stringify(make()))),
  );
}

export const PAYLOADS: readonly Behaviour[] = [
  {
    name: 'a step returns the same value to the code as its replay, whatever JSON leaves out',
    async run(stage) {
      await sameInReplay(stage, {}, (ctx, make) => ctx.step('make', make));
      const codec = aesCodec([{ id: 'k', key: new Uint8Array(32).fill(3) }]);
      await sameInReplay(stage, { codec }, (ctx, make) => ctx.step('make', async () => make()));
    },
  },
  {
    name: 'a transaction returns the same value to the code as its replay',
    async run(stage) {
      // Synchronous, as SQLite needs it.
      await sameInReplay(stage, {}, (ctx, make) => ctx.transaction('make', make));
    },
  },
  {
    name: 'X-48: values beyond JSON are read back unchanged from steps, inputs, signals, children and checkpoints',
    async run(stage) {
      const codec = aesCodec([{ id: 'k', key: new Uint8Array(32).fill(3) }]);
      for (const options of [{}, { codec }, { payloads: { inlineBytesMax: 256 } }]) {
        const child = pipeline({ name: 'child', run: (_, input: unknown) => input });
        const code = pipeline<unknown, unknown>({
          name: 'round trip',
          async run(ctx, input) {
            const { before } = (ctx.restored ?? {}) as { readonly before?: unknown[] };
            if (before !== undefined) {
              const replayed = await ctx.step('again', () => input);
              return [...before, replayed, await ctx.receive('go')];
            }
            const made = await ctx.step('make', () => input);
            const spawned = await (await ctx.spawn(child, made)).result();
            await ctx.checkpoint({ before: [input, made, spawned] });
            const replayed = await ctx.step('again', () => input);
            return [input, made, spawned, replayed, await ctx.receive('go')];
          },
        });
        const holdfast = stage.holdfast(options);
        const worker = await stage.worker(holdfast, [code, child]);
        const key = `round trip ${JSON.stringify(options).length}`;
        const handle = await holdfast.submit(code, BEYOND_JSON, { key });
        const isWaiting = ({ kind }: { readonly kind: string }) => kind === 'checkpointed';
        await stage.untilHistory(holdfast, handle.id, (events) => events.some(isWaiting));
        await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
        await stage.crash(worker);
        const next = await stage.worker(holdfast, [code, child]);
        await holdfast.signal(handle.id, { name: 'go', value: BEYOND_JSON });
        const output = (await handle.result()) as unknown[];
        assert.equal(output.length, 5);
        for (const each of output) assert.deepStrictEqual(each, BEYOND_JSON);
        const again = await holdfast.submit(code, BEYOND_JSON, { key });
        assert.equal(again.existing, true);
        const other = { ...BEYOND_JSON, stock: new Map() };
        await assert.rejects(holdfast.submit(code, other, { key }), { name: 'SubmitRefused' });
        await next.stop();
      }
    },
  },
  {
    name: 'a value that cannot be stored is refused with its path',
    async run(stage) {
      const holdfast = stage.holdfast();
      for (const [value, path] of [
        [{ a: [1, { b: Symbol('b') }] }, 'value.a[1].b is a symbol'],
        [{ 'odd name': () => 1 }, 'value["odd name"] is a function'],
        [new Map([['a', { now: Date.now }]]), 'value.a.now is a function'],
        [{ n: Number.NaN }, 'value.n is NaN'],
      ] as const) {
        await assert.rejects(holdfast.submit(echo, value), (error: Error) => {
          assert.ok(error.message.includes(path), `${error.message} names ${path}`);
          return true;
        });
      }
      const weak = pipeline({ name: 'weak', run: (ctx) => ctx.step('make', () => new WeakMap()) });
      await stage.worker(holdfast, [weak]);
      const handle = await holdfast.submit(weak, undefined);
      await assert.rejects(handle.result(), { message: /output of step "make".*a WeakMap/ });
    },
  },
  {
    name: 'large values are kept apart and read back whole; too large ones are refused',
    async run(stage) {
      const holdfast = stage.holdfast({ payloads: { inlineBytesMax: 1_000, bytesMax: 200_000 } });
      const worker = await stage.worker(holdfast, [echo]);
      const large = { text: 'ä€😀'.repeat(5_000) };
      const handle = await holdfast.submit(echo, large);
      await stage.until(holdfast, handle.id, ({ status }) => status === 'waiting');
      const record = await holdfast.read(handle.id);
      assert.match(record?.input ?? '', /^\{"ref":"[0-9a-f]{64}"/);
      await stage.crash(worker);
      await stage.worker(holdfast, [echo]);
      await holdfast.signal(handle.id, { name: 'go' });
      assert.deepEqual(await handle.result(), large);
      await assert.rejects(holdfast.submit(echo, 'x'.repeat(200_001)), {
        name: 'PayloadTooLarge',
        message: /200003 bytes, and at most 200000/,
      });
    },
  },
  {
    name: 'a codec hides values from readers of the store, and its keys rotate',
    async run(stage) {
      const old = { id: '2026-10', key: new Uint8Array(32).fill(1) };
      const fresh = { id: '2026-11', key: new Uint8Array(32).fill(2) };
      const before = stage.holdfast({ codec: aesCodec([old]) });
      const worker = await stage.worker(before, [echo]);
      const handle = await before.submit(echo, { secret: 'tulip' });
      await stage.until(before, handle.id, ({ status }) => status === 'waiting');
      const stored = JSON.stringify([
        await before.read(handle.id),
        await before.history(handle.id),
      ]);
      assert.equal(stored.includes('tulip'), false);
      assert.ok(stored.includes('aes-256-gcm:2026-10'));
      await worker.stop();
      const after = stage.holdfast({ codec: aesCodec([fresh, old]) });
      await stage.worker(after, [echo]);
      await after.signal(handle.id, { name: 'go' });
      assert.deepEqual(await after.result(handle.id), { secret: 'tulip' });
      await assert.rejects(stage.holdfast().result(handle.id), { code: 'codec-missing' });
      await assert.rejects(stage.holdfast({ codec: aesCodec([old]) }).result(handle.id), {
        code: 'codec-key-missing',
      });
    },
  },
  {
    name: 'attachments go through the codec too; keys rotate, and earlier plain ones stay readable',
    async run(stage) {
      const old = { id: '2026-10', key: new Uint8Array(32).fill(1) };
      const fresh = { id: '2026-11', key: new Uint8Array(32).fill(2) };
      const attaching = pipeline<string, void>({
        name: 'attaching',
        async run(ctx, name) {
          await ctx.attach(name, 'tulip', 'text/x');
          await ctx.attach(`${name} bytes`, Buffer.from('tulip'));
        },
      });
      const plain = stage.holdfast();
      const quick = aesCodec([old]);
      const slow: PayloadCodec = { ...quick, encode: async (bytes) => quick.encode(bytes) };
      const before = stage.holdfast({ codec: slow });
      const { id: plainId } = await attachedBy(stage, plain, attaching);
      const { id } = await attachedBy(stage, before, attaching);
      const after = stage.holdfast({ codec: aesCodec([fresh, old]) });
      const { id: freshId } = await attachedBy(stage, after, attaching);
      for (const each of [plainId, id, freshId]) {
        for (const name of ['doc', 'doc bytes']) {
          const read = await after.attachment(each, name);
          assert.equal(Buffer.from(read ?? []).toString(), 'tulip');
          const stored = await stage.store.executions.attachment({ id: each, name });
          const isPlain = Buffer.from(stored?.bytes ?? []).includes('tulip');
          assert.equal(isPlain, each === plainId);
        }
        const [first] = await after.attachments(each);
        assert.deepEqual([first?.name, first?.type, first?.bytes], ['doc', 'text/x', 5]);
      }
      await assert.rejects(before.attachment(freshId, 'doc'), { code: 'codec-key-missing' });
      await assert.rejects(plain.attachment(id, 'doc'), { code: 'codec-missing' });
    },
  },
  {
    name: 'if a codec returns a wrong result, the value is never stored in the clear',
    async run(stage) {
      const works = aesCodec([{ id: 'k', key: new Uint8Array(32).fill(4) }]);
      const answers: readonly unknown[] = [
        ...[undefined, null, new Uint8Array(3), { by: 'x' }, { by: '', bytes: new Uint8Array(1) }],
        { by: 5, bytes: new Uint8Array(1) },
        { by: 'x', bytes: 'tulip' },
      ];
      for (const answer of answers) {
        for (const encode of [() => answer, async () => answer]) {
          const holdfast = stage.holdfast({ codec: { ...works, encode } as PayloadCodec });
          await assert.rejects(holdfast.submit(echo, 'tulip'), { code: 'codec-broken' });
        }
      }
      assert.deepEqual((await stage.holdfast().list()).items, []);
      // The engine also awaits promises that are not its own.
      const encoded = await works.encode(Buffer.from('"tulip"'));
      // biome-ignore lint/suspicious/noThenProperty: that is what is tried
      const thenable = { then: (resolve: (value: unknown) => void) => resolve(encoded) };
      const codec = { ...works, encode: () => thenable } as unknown as PayloadCodec;
      const { id } = await stage.holdfast({ codec }).submit(echo, 'tulip');
      const stored = await stage.holdfast().read(id);
      assert.match(stored?.input ?? '', /^\{"enc":"[^"]+","by":"aes-256-gcm:k"\}$/);
    },
  },
  {
    name: 'undefined, null and empty values are read back unchanged',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [echo]);
      for (const value of [undefined, null, '', 0, false, [], {}, { a: null }]) {
        const handle = await holdfast.submit(echo, value);
        await holdfast.signal(handle.id, { name: 'go' });
        assert.deepEqual(await handle.result(), value);
      }
    },
  },
];
