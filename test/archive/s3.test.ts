import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import v8 from 'node:v8';
import vm from 'node:vm';
import { openS3Archive, type S3ArchiveOptions } from '../../src/archive/s3.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { freshSqliteFile } from '../services/sqlite-file.ts';
import { BUCKET, CREDENTIALS, type GateMode, s3ForTests } from './s3-server.ts';

v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc') as () => void;

const s3 = await s3ForTests();
after(() => s3.close());

const open = (options: Partial<S3ArchiveOptions> = {}) =>
  openS3Archive({ url: s3.url, bucket: BUCKET, timeoutMs: 20_000, ...CREDENTIALS, ...options });

const note = pipeline({ name: 'note', run: (ctx, n: number) => ctx.step('n', () => n) });
const COUNT = 12;

async function withEnded(
  run: (store: CoordinatorStore, ids: readonly string[]) => Promise<void>,
): Promise<void> {
  const { file, remove } = await freshSqliteFile();
  const store = await openSqliteStore({ file });
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [note], pollMs: 20 });
  const handles = await Promise.all(
    Array.from({ length: COUNT }, (_, n) => holdfast.submit(note, n, { key: `note ${n}` })),
  );
  await Promise.all(handles.map((each) => each.result()));
  await holdfast.close();
  try {
    await run(
      store,
      handles.map(({ id }) => id),
    );
  } finally {
    await store.close();
    await remove();
  }
}

test('F-9: an object is read back as it was put, with a prefix too, and a missing one is undefined', async () => {
  for (const prefix of ['', 'deep/er', 'deep/er/']) {
    const archive = await open(prefix === '' ? {} : { prefix });
    const bytes = Buffer.from('{"ü":1}');
    await archive.put({ path: 'default/a.json', type: 'application/json', bytes });
    await archive.put({ path: 'default/a.json', type: 'application/json', bytes });
    assert.deepEqual(await archive.get('default/a.json'), new Uint8Array(bytes));
    assert.equal(await archive.get('default/b.json'), undefined);
  }
});

test('F-11: a content type that no header can carry is archived as bytes, without an error', async () => {
  const archive = await open({ prefix: 'odd-types' });
  const bytes = Buffer.from('x');
  for (const type of ['text/plain\nx: y', 'tëxt/✓', '']) {
    await archive.put({ path: 'default/odd', type, bytes });
    assert.deepEqual(await archive.get('default/odd'), new Uint8Array(bytes));
  }
});

test('F-11: errors name wrong credentials and a missing bucket, without the secret', async () => {
  const document = { path: 'a.json', type: 'application/json', bytes: Buffer.from('{}') };
  const wrong = await open({ accessKeyId: 'NOBODY', secretAccessKey: 'not-the-secret' });
  await assert.rejects(wrong.put(document), (error: Error) => {
    assert.match(error.message, /InvalidAccessKeyId/);
    assert.doesNotMatch(error.message, /not-the-secret/);
    return true;
  });
  const forged = await open({ secretAccessKey: 'not-the-secret' });
  await assert.rejects(forged.put(document), /SignatureDoesNotMatch/);
  await assert.rejects(forged.get('a.json'), /SignatureDoesNotMatch/);
  const elsewhere = await open({ bucket: 'not-there' });
  await assert.rejects(elsewhere.put(document), /NoSuchBucket/);
  await assert.rejects(elsewhere.get('a.json'), /NoSuchBucket/);
});

test('F-11: a stalled request ends at its timeout, garbage collection or not', async () => {
  const archive = await open({ prefix: 'collected', timeoutMs: 500 });
  s3.turn('stalled');
  const put = archive.put({ path: 'a.json', type: 'text/plain', bytes: Buffer.from('x') });
  const ended = assert.rejects(put, /no response within 500 ms/);
  await s3.stalled();
  collectGarbage();
  await ended;
  s3.turn('open');
});

for (const mode of ['down', 'stalled', 'full', 'cut'] satisfies readonly GateMode[]) {
  for (const writes of [0, 4, 23]) {
    test(`F-11: storage that is ${mode} after ${writes} writes loses nothing, and all of it is archived once afterwards`, () =>
      withEnded(async (store, ids) => {
        const prefix = `${mode}-${writes}`;
        const keepMs = { completed: 0 };
        // A busy machine does not answer within 300 ms either, so requests that must succeed get
        // more time.
        const hasty = await open({ prefix, timeoutMs: 300 });
        const failing = new Holdfast({ store, retention: { archive: hasty, keepMs } });
        s3.turn(mode, writes);
        await assert.rejects(failing.archive.run(), { code: 'archive-unavailable' });
        await failing.close();
        s3.turn('open');
        const archive = await open({ prefix });
        const holdfast = new Holdfast({ store, retention: { archive, keepMs } });
        let kept = 0;
        for (const id of ids) {
          if ((await holdfast.read(id)) !== undefined) kept += 1;
          else assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
        }
        assert.ok(kept > 0);
        const { removed, cursor } = await holdfast.archive.run();
        assert.deepEqual([removed, cursor], [kept, undefined]);
        const { items } = await holdfast.archive.list();
        assert.deepEqual(items.map(({ id }) => id).sort(), [...ids].sort());
        for (const id of ids) {
          assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
        }
        await holdfast.close();
      }));
  }
}

for (const mode of ['down', 'stalled', 'full', 'cut'] satisfies readonly GateMode[]) {
  test(`F-14, F-16: an erasure while storage is ${mode} stays pending, and a repetition erases every document`, () =>
    withEnded(async (store, [id = '']) => {
      const prefix = `erase-${mode}`;
      const keepMs = { completed: 0 };
      const archive = await open({ prefix });
      const holdfast = new Holdfast({ store, retention: { archive, keepMs } });
      await holdfast.archive.run();
      const hasty = new Holdfast({
        ...{ store, retention: { archive: await open({ prefix, timeoutMs: 300 }), keepMs } },
      });
      const by = { actor: 'olga', reason: 'request 4711' };
      s3.turn(mode, 1);
      await assert.rejects(hasty.erase(id, by), { code: 'archive-unavailable' });
      await hasty.close();
      s3.turn('open');
      const pending = (await holdfast.archive.get(id))?.erased?.pending;
      assert.deepEqual(pending, { documents: true });
      const left = await holdfast.archive.verify(id);
      assert.ok(left?.kind === 'damaged' && left.damages.every(({ why }) => why === 'not-erased'));
      assert.equal((await holdfast.erase(id, by)).kind, 'erased');
      assert.equal((await holdfast.archive.verify(id))?.kind, 'erased');
      const { place = '', documents = [], erased } = (await holdfast.archive.get(id)) ?? {};
      assert.equal(erased?.pending, undefined);
      for (const { name, sha256 } of documents) {
        const bytes = await archive.get(`${place}/${name}`);
        assert.deepEqual(JSON.parse(Buffer.from(bytes ?? []).toString()), { erased: { sha256 } });
      }
      await assert.rejects(holdfast.archive.document(id, 'record.json'), { code: 'value-erased' });
      assert.equal((await holdfast.erase(id, by)).kind, 'already-erased');
      await holdfast.close();
    }));
}
