// With a codec, no value of the code is readable in the file. The test searches its bytes.

import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { aesCodec } from '../../src/engine/values/aes-codec.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';

const SECRET = 'tulip-3f1c';
const LARGE = SECRET.repeat(20_000);

const child = pipeline<unknown, unknown>({ name: 'child', run: (_ctx, input) => input });

const secretive = pipeline<unknown, unknown>({
  name: 'secretive',
  async run(ctx, input) {
    await ctx.step('small', () => ({ input }));
    await ctx.step('large', () => LARGE);
    await ctx.map('many', [1, 2], { run: () => SECRET });
    await ctx.transaction('sql', () => SECRET);
    ctx.progress({ at: SECRET });
    await ctx.attach('document', SECRET);
    await ctx.attach('bytes', Buffer.from(LARGE));
    await (await ctx.spawn(child, SECRET)).result();
    await (await ctx.fanOut(child, [SECRET, LARGE])).results();
    await ctx.receive('word');
    await ctx.checkpoint({ state: SECRET });
    return { SECRET };
  },
});

const echoes = pipeline<unknown, unknown>({
  name: 'echoes',
  run: async (ctx, input) => [
    await ctx.step('first', () => input),
    await ctx.step('echo', () => input),
  ],
});

async function bytesOf(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Buffer.concat(
    await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))),
  );
}

test('a store file whose values go through a codec has none of them in the clear', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hf-encrypted-'));
  const store = await openSqliteStore({ file: join(folder, 'hf.db') });
  const codec = aesCodec([{ id: 'k', key: new Uint8Array(32).fill(9) }]);
  const holdfast = new Holdfast({ store, codec });
  try {
    await holdfast.worker({ pipelines: [secretive, child, echoes], pollMs: 20 });
    await holdfast.templates.put({ id: 't', version: 1, pipeline: 'x', defaults: { SECRET } });
    await holdfast.schedules.put({ id: 's', every: 86_400_000, pipeline: 'x', input: SECRET });
    const handle = await holdfast.submit(secretive, { SECRET }, { key: 'k' });
    await holdfast.signal(handle.id, { name: 'word', value: SECRET });
    assert.deepEqual(await handle.result(), { SECRET });
    assert.equal((await holdfast.attachment(handle.id, 'bytes'))?.length, LARGE.length);
    const { id } = await holdfast.submit(echoes, 'old');
    await holdfast.result(id);
    const edited = await holdfast.repair.redrive(id, { from: 'echo', input: { SECRET } });
    assert.deepEqual(await holdfast.result(edited.id), ['old', { SECRET }]);
    assert.equal((await bytesOf(folder)).includes(SECRET), false);
  } finally {
    await holdfast.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
