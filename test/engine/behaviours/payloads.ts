import assert from 'node:assert/strict';
import { aesCodec } from '../../../src/engine/aes-codec.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

const echo = pipeline<unknown, unknown>({
  name: 'echo',
  async run(ctx, input) {
    const echoed = await ctx.step('echo', () => input);
    await ctx.receive('go');
    return echoed;
  },
});

export const PAYLOADS: readonly Behaviour[] = [
  {
    name: 'what cannot be stored is refused with the path to it',
    async run(stage) {
      const holdfast = stage.holdfast();
      for (const [value, path] of [
        [{ a: [1, { b: 2n }] }, 'value.a[1].b is a bigint'],
        [{ when: new Date(0) }, 'value.when is a Date'],
        [{ 'odd name': () => 1 }, 'value["odd name"] is a function'],
        [[1, undefined], 'value[1] is undefined'],
        [{ n: Number.NaN }, 'value.n is NaN'],
      ] as const) {
        await assert.rejects(holdfast.submit(echo, value), (error: Error) => {
          assert.ok(error.message.includes(path), `${error.message} names ${path}`);
          return true;
        });
      }
      const map = pipeline({ name: 'map', run: (ctx) => ctx.step('make', () => new Map()) });
      await stage.worker(holdfast, [map]);
      const handle = await holdfast.submit(map, undefined);
      await assert.rejects(handle.result(), { message: /output of step "make".*a Map/ });
    },
  },
  {
    name: 'large values are kept apart and come back whole; too large ones are refused',
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
        message: /200003 bytes; at most 200000/,
      });
    },
  },
  {
    name: 'a codec keeps values from those who read the store; keys rotate',
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
    name: 'undefined, null and empty values come back as they were',
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
