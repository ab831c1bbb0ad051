import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openFolderArchive } from '../../src/archive/folder.ts';
import type { Archive, ArchiveDocument } from '../../src/archive/port.ts';
import type { HoldfastOptions } from '../../src/engine/config.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { aesCodec } from '../../src/engine/values/aes-codec.ts';
import { NO_JOB_LIMITS } from '../../src/features/repair/job-limits-api.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const NOTHING_KEPT = { completed: 0, failed: 0, cancelled: 0, deadLetter: 0 } as const;

const order = pipeline({
  name: 'order',
  run: async (ctx, input: { readonly item: string; readonly fails?: boolean }) => {
    const price = await ctx.step('price', () => 17);
    await ctx.attach('invoice <1>.txt', Buffer.from(`${input.item}: ${price}`), 'text/plain');
    if (input.fails === true) throw new Error('| no <b>stock</b> |');
    const note = await ctx.await<string>('note');
    return { price, note, large: 'x'.repeat(100_000) };
  },
});

const folders: string[] = [];
after(() => Promise.all(folders.map((each) => rm(each, { recursive: true, force: true }))));

async function scene(
  options: Partial<HoldfastOptions> = {},
  decode = true,
): Promise<{
  readonly holdfast: Holdfast;
  readonly folder: string;
  readonly archive: Archive;
  close(): Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-archive-'));
  folders.push(folder);
  const archive = openFolderArchive({ folder });
  const store = openMemoryStore();
  const retention = { archive, keepMs: NOTHING_KEPT, decode };
  const holdfast = new Holdfast({ store, retention, ...options });
  return {
    holdfast,
    folder,
    archive,
    async close() {
      await holdfast.close();
      await store.close();
    },
  };
}

async function ordered(holdfast: Holdfast, fails = false): Promise<string> {
  const worker = await holdfast.worker({ pipelines: [order], pollMs: 20 });
  const options = { key: 'Order-17 Bern', tags: ['vip'], attributes: { size: 3 } };
  const { id } = await holdfast.submit(order, { item: 'chair', ...(fails && { fails }) }, options);
  if (!fails) {
    await holdfast.awaits.answer({ execution: id, name: 'note' }, 'thanks', { actor: 'olga' });
  }
  await holdfast.ended(id);
  await worker.stop();
  return id;
}

async function text(holdfast: Holdfast, id: string, name: string): Promise<string> {
  const bytes = await holdfast.archive.document(id, name);
  assert.ok(bytes !== undefined, `there is no ${name}`);
  return Buffer.from(bytes).toString();
}

test('F-6, F-9: an archived execution can be read, found and verified afterwards, complete', async () => {
  const { holdfast, close } = await scene();
  const id = await ordered(holdfast);
  const before = await holdfast.history(id);
  const run = await holdfast.archive.run();
  assert.deepEqual(run, { due: 1, archived: 1, removed: 1, failed: 0 });
  assert.equal(await holdfast.read(id), undefined);
  const found = await holdfast.archive.get(id);
  assert.ok(found !== undefined);
  assert.deepEqual([found.status, found.key, found.tags], ['completed', 'Order-17 Bern', ['vip']]);
  const record = JSON.parse(await text(holdfast, id, 'record.json')) as Record<string, unknown>;
  assert.deepEqual(record['input'], { item: 'chair' });
  assert.equal(record['status'], 'completed');
  assert.match(String(record['endedAt']), /^\d{4}-\d\d-\d\dT.*Z$/);
  const history = JSON.parse(await text(holdfast, id, 'history.json')) as readonly object[];
  assert.equal(history.length, before.length);
  const steps = JSON.parse(await text(holdfast, id, 'steps.json')) as readonly {
    readonly call: string;
    readonly outcome: string;
  }[];
  assert.deepEqual(
    steps.map(({ call, outcome }) => [call, outcome]),
    [
      ['step:price#1', 'completed'],
      ['attach:invoice <1>.txt#1', 'completed'],
      ['await:note#1', 'completed'],
    ],
  );
  const large = found.documents.find(({ name }) => name.startsWith('payloads/'));
  assert.ok((large?.bytes ?? 0) > 100_000, 'a large value is a document of its own');
  const invoice = found.documents.find(({ title }) => title === 'invoice <1>.txt');
  assert.equal(await text(holdfast, id, invoice?.name ?? ''), 'chair: 17');
  assert.match(await text(holdfast, id, 'awaits.json'), /"actor": "olga"/);
  assert.match(await text(holdfast, id, 'report.md'), /^# order: completed/);
  for (const query of ['order', 'ORDER bern', '17']) {
    const { items } = await holdfast.archive.search(query);
    assert.deepEqual(
      items.map((each) => each.id),
      [id],
      query,
    );
  }
  assert.deepEqual((await holdfast.archive.search('ord')).items, []);
  assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
  await close();
});

test('F-9: the record has the first start and the qualified template, however often it was claimed', async () => {
  const { holdfast, close } = await scene();
  await holdfast.templates.put({ id: 'chairs', version: 2, pipeline: 'waits' });
  const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive('go') });
  const worker = await holdfast.worker({ pipelines: [waits], pollMs: 20 });
  const { id } = await holdfast.submit({ template: 'chairs', version: 2 }, undefined);
  while ((await holdfast.read(id))?.status !== 'waiting') {
    await new Promise((resolve) => setImmediate(resolve));
  }
  await holdfast.signal(id, { name: 'go' });
  await holdfast.ended(id);
  await worker.stop();
  const claims = (await holdfast.history(id)).filter(({ kind }) => kind === 'claimed');
  assert.equal(claims.length, 2);
  await holdfast.archive.run();
  const record = JSON.parse(await text(holdfast, id, 'record.json')) as Record<string, unknown>;
  assert.equal(record['startedAt'], new Date(claims[0]?.at ?? 0).toISOString());
  assert.equal(record['templateId'], 'default/chairs@2');
  const report = await text(holdfast, id, 'report.md');
  assert.match(report, /\| started \| 20/);
  assert.match(report, /\| template \| default\/chairs@2 \|/);
  await close();
});

test('F-9: user text stays text in the report, and the report has the dead letter', async () => {
  const { holdfast, close } = await scene();
  const id = await ordered(holdfast, true);
  assert.equal((await holdfast.archive.run()).removed, 1);
  const report = await text(holdfast, id, 'report.md');
  assert.match(report, /## Dead letter/);
  assert.match(report, /\\\| no &lt;b>stock&lt;\/b> \\\|/);
  await close();
});

test('F-9: changed and missing documents are named', async () => {
  const { holdfast, folder, close } = await scene();
  const id = await ordered(holdfast);
  await holdfast.archive.run();
  const { place = '' } = (await holdfast.archive.get(id)) ?? {};
  await writeFile(join(folder, place, 'history.json'), '[]');
  await rm(join(folder, place, 'report.md'));
  assert.deepEqual(await holdfast.archive.verify(id), {
    kind: 'damaged',
    damages: [
      { document: 'history.json', why: 'changed' },
      { document: 'report.md', why: 'missing' },
    ],
  });
  for (const name of ['history.json', 'report.md']) {
    await assert.rejects(holdfast.archive.document(id, name), { code: 'archive-damaged' }, name);
  }
  await writeFile(join(folder, place, 'manifest.json'), '{}');
  assert.deepEqual(await holdfast.archive.verify(id), {
    kind: 'damaged',
    damages: [{ document: 'manifest.json', why: 'changed' }],
  });
  await assert.rejects(holdfast.archive.get(id), { code: 'archive-damaged' });
  await close();
});

test('F-9: archiving an execution again writes the same documents to the same place', async () => {
  const { holdfast, archive, folder, close } = await scene();
  const id = await ordered(holdfast);
  const written: ArchiveDocument[] = [];
  const failing: Archive = {
    ...archive,
    async put(document) {
      written.push(document);
      await archive.put(document);
      if (document.path.endsWith('manifest.json')) throw new Error('too late');
    },
  };
  const other = new Holdfast({
    store: holdfast.store,
    retention: { archive: failing, keepMs: NOTHING_KEPT },
  });
  assert.deepEqual(await other.archive.run(), { due: 1, archived: 0, removed: 0, failed: 1 });
  assert.notEqual(await holdfast.read(id), undefined);
  assert.equal((await holdfast.archive.run()).removed, 1);
  const { place = '', documents = [] } = (await holdfast.archive.get(id)) ?? {};
  for (const { path, bytes } of written) {
    assert.deepEqual(await readFile(join(folder, path)), Buffer.from(bytes), path);
    assert.ok(path.startsWith(`${place}/`), path);
  }
  assert.equal(written.length, documents.length + 1);
  const days = await readdir(join(folder, 'default'));
  assert.equal((await readdir(join(folder, 'default', days[0] ?? ''))).length, 1);
  await other.close();
  await close();
});

test('F-9: values that a codec sealed are archived decoded, or as stored if decoding is off or impossible', async () => {
  const codec = aesCodec([{ id: 'a', key: Buffer.alloc(32, 7) }]);
  for (const decode of [true, false]) {
    const { holdfast, folder, close } = await scene({ codec }, decode);
    const id = await ordered(holdfast);
    assert.equal((await holdfast.archive.run()).removed, 1);
    const { place = '', documents = [] } = (await holdfast.archive.get(id)) ?? {};
    const all = await Promise.all(documents.map(({ name }) => readFile(join(folder, place, name))));
    const isReadable = all.some((bytes) => bytes.includes('chair'));
    assert.equal(isReadable, decode);
    assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
    await close();
  }
});

test('F-1: a process without retention settings removes nothing, and its error names the missing setting', async () => {
  const { holdfast, close } = await scene();
  const id = await ordered(holdfast);
  const other = new Holdfast({ store: holdfast.store });
  await assert.rejects(other.archive.run(), { code: 'archive-missing' });
  assert.notEqual(await other.read(id), undefined);
  await holdfast.archive.run();
  assert.equal((await other.archive.list()).items.length, 1);
  await assert.rejects(other.archive.get(id), { code: 'archive-missing' });
  await other.close();
  await close();
});

test('F-1: a project’s retention overrides the default, status by status, and null keeps for ever', async () => {
  const { holdfast, close } = await scene();
  const name = 'default' as never;
  await holdfast.store.access.putProject({ name, settings: { keepMs: { completed: null } } });
  const id = await ordered(holdfast);
  assert.deepEqual(await holdfast.archive.run(), { due: 0, archived: 0, removed: 0, failed: 0 });
  assert.notEqual(await holdfast.read(id), undefined);
  await holdfast.store.access.putProject({ name, settings: { keepMs: { failed: null } } });
  assert.equal((await holdfast.archive.run()).removed, 1);
  await close();
});

test('F-9: a process that is overtaken while it reads does not overwrite the other’s documents', async () => {
  const { holdfast, archive, folder, close } = await scene();
  const id = await ordered(holdfast);
  const { executions } = holdfast.store;
  const slow = {
    ...executions,
    // Missing rows read as an empty list. The archiver must not mistake that for the real content.
    async attachments(of: Parameters<typeof executions.attachments>[0]) {
      assert.equal((await holdfast.archive.run()).removed, 1);
      return executions.attachments(of);
    },
  };
  const store = { ...holdfast.store, executions: slow };
  const other = new Holdfast({ store, retention: { archive, keepMs: NOTHING_KEPT } });
  assert.deepEqual(await other.archive.run(), { due: 1, archived: 0, removed: 0, failed: 0 });
  assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
  const [day = ''] = await readdir(join(folder, 'default'));
  assert.equal((await readdir(join(folder, 'default', day))).length, 1);
  await other.close();
  await close();
});

test('P-18: each document that a verification reads is paid for by its size', async () => {
  const weights: number[] = [];
  const jobLimits = {
    ...NO_JOB_LIMITS,
    begin: async (_: string, weight: number) => void weights.push(weight),
  };
  const { holdfast, close } = await scene({ jobLimits });
  const id = await ordered(holdfast);
  await holdfast.archive.run();
  weights.length = 0;
  const found = await holdfast.archive.verify(id);
  assert.equal(found?.kind, 'intact');
  // One more for the manifest.
  assert.equal(weights.length, 1 + (found?.kind === 'intact' ? found.documents : 0));
  assert.ok(Math.max(...weights) > 10, 'the large value costs more than a small document');
  await close();
});
