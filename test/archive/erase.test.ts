import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openFolderArchive } from '../../src/archive/folder.ts';
import type { Archive, ArchiveDocument } from '../../src/archive/port.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';

const SECRET = 'ada@example.org';
const BY = { actor: 'olga', reason: 'request 4711' } as const;
const ERASED = { code: 'value-erased' } as const;

const order = pipeline({
  name: 'order',
  retry: { attempts: 1 },
  run: async (ctx, input: { readonly mail: string; readonly fails?: boolean }) => {
    const mail = await ctx.step('look', () => ({ mail: input.mail }));
    ctx.log(`mail to ${mail.mail}`, mail);
    await ctx.attach('letter.txt', Buffer.from(`Dear ${input.mail}`), 'text/plain');
    await ctx.publish('status', mail);
    if (input.fails === true) throw new Error(`no mailbox ${input.mail}`);
    return { ...mail, large: `${input.mail} ${'x'.repeat(100_000)}` };
  },
});

const folder = await mkdtemp(join(tmpdir(), 'hf-erase-'));
after(() => rm(folder, { recursive: true, force: true }));

interface Scene {
  readonly holdfast: Holdfast;
  readonly archive: Archive;
  readonly root: string;
  /** Moves the clock of the store, on which the age of large values counts. */
  advance(ms: number): void;
}

async function scene<Result>(
  run: (scene: Scene) => Promise<Result>,
  wrap: (archive: Archive) => Archive = (archive) => archive,
): Promise<Result> {
  const root = await mkdtemp(join(folder, 'archive-'));
  const archive = wrap(openFolderArchive({ folder: root }));
  let aheadMs = 0;
  const clock: Clock = {
    wallMs: () => systemClock.wallMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
  };
  const store = openMemoryStore({ clock });
  const retention = { archive, keepMs: { completed: 0, failed: 0, deadLetter: 0 } };
  const holdfast = new Holdfast({ store, retention });
  const advance = (ms: number): void => {
    aheadMs += ms;
  };
  try {
    return await run({ holdfast, archive, root, advance });
  } finally {
    await holdfast.close();
    await store.close();
  }
}

async function ended(holdfast: Holdfast, fails = false): Promise<string> {
  const worker = await holdfast.worker({ pipelines: [order], pollMs: 20 });
  const input = { mail: SECRET, ...(fails && { fails }) };
  const { id } = await holdfast.submit(order, input, { key: 'order-17', tags: [SECRET] });
  await holdfast.ended(id);
  await worker.stop();
  return id;
}

/** Every file of the archive, as text. */
async function filesIn(root: string): Promise<string> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile());
  const texts = files.map((each) => readFile(join(each.parentPath, each.name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

test('F-13: an erased execution keeps its story, its values are refused, and a re-drive too', () =>
  scene(async ({ holdfast }) => {
    const id = await ended(holdfast, true);
    const result = await holdfast.erase('key:order-17', BY);
    assert.equal(result.kind, 'erased');
    const execution = await holdfast.read(id);
    assert.equal(execution?.erased?.by, 'olga');
    const history = await holdfast.history(id);
    assert.doesNotMatch(JSON.stringify([execution, history]), new RegExp(SECRET));
    assert.equal(history.at(-1)?.kind, 'failed');
    await assert.rejects(holdfast.decode(execution?.input ?? ''), ERASED);
    await assert.rejects(holdfast.attachment(id, 'letter.txt'), ERASED);
    await assert.rejects(holdfast.published(id, 'status'), ERASED);
    await assert.rejects(holdfast.result(id), { message: /erased/ });
    await assert.rejects(holdfast.repair.redrive(id), { code: 'execution-erased' });
    const explanation = await holdfast.explain(id);
    assert.doesNotMatch(JSON.stringify(explanation), new RegExp(SECRET));
    assert.equal((await holdfast.repair.deadLetter(id))?.reason, 'erased');
    assert.deepEqual(await holdfast.repair.reconcile(), []);
    const { items } = await holdfast.audit.list({ action: 'erase' });
    assert.deepEqual(
      items.map(({ target, actor, reason }) => [target.id, actor, reason]),
      [[id, 'olga', 'request 4711']],
    );
    assert.equal((await holdfast.erase(id, BY)).kind, 'already-erased');
  }));

test('F-13: an erasure needs a reason, and an ended execution of the project', () =>
  scene(async ({ holdfast }) => {
    const { id } = await holdfast.submit(order, { mail: SECRET });
    const open = await holdfast.erase(id, BY);
    assert.deepEqual(open, { kind: 'refused', why: 'not-ended', id, status: 'queued' });
    assert.equal(JSON.parse((await holdfast.read(id))?.input ?? '{}').v.mail, SECRET);
    await assert.rejects(holdfast.erase(id, { reason: '' }), { code: 'invalid-input' });
    await holdfast.cancel(id);
    const elsewhere = await holdfast.erase(id, { ...BY, project: 'other' });
    assert.equal(elsewhere.kind === 'refused' && elsewhere.why, 'execution-unknown');
  }));

test('F-15: a large value goes when it is old enough that no row is about to refer to it', () =>
  scene(async ({ holdfast, advance }) => {
    const id = await ended(holdfast);
    const [one, two] = [await holdfast.submit(order, { mail: 'b' }), id];
    await holdfast.cancel(one.id);
    const envelope = JSON.parse((await holdfast.history(two)).at(-1)?.body ?? '{}').out;
    const key = { project: 'default' as never, digest: envelope.ref as string };
    const early = await holdfast.erase(id, BY);
    assert.deepEqual(early.kind !== 'refused' && early.erasure.pending, { values: [envelope.ref] });
    assert.ok((await holdfast.store.executions.getBlob(key)) !== undefined, 'it may be in use');
    advance(600_001);
    const done = await holdfast.erase(id, BY);
    assert.deepEqual(
      [done.kind, done.kind !== 'refused' && done.erasure.pending],
      ['erased', undefined],
    );
    assert.equal(await holdfast.store.executions.getBlob(key), undefined);
    assert.equal((await holdfast.erase(id, BY)).kind, 'already-erased');
  }));

test('F-15: a large value of another execution of the project stays for it', () =>
  scene(async ({ holdfast, advance }) => {
    const mine = await ended(holdfast);
    const worker = await holdfast.worker({ pipelines: [order], pollMs: 20 });
    const theirs = await holdfast.submit(order, { mail: SECRET });
    await theirs.result();
    await worker.stop();
    advance(600_001);
    const { kind, ...rest } = await holdfast.erase(mine, BY);
    assert.deepEqual([kind, 'erasure' in rest && rest.erasure.pending], ['erased', undefined]);
    const output = (await theirs.result()) as { readonly large: string };
    assert.equal(output.large.length, SECRET.length + 100_001);
  }));

test('F-14: an erased archive has digests and no values, and verifies as erased', () =>
  scene(async ({ holdfast, root, advance }) => {
    const id = await ended(holdfast);
    await holdfast.archive.run();
    assert.match(await filesIn(root), new RegExp(SECRET));
    const before = await holdfast.archive.get(id);
    advance(600_001);
    const result = await holdfast.erase(id, BY);
    assert.deepEqual(result.kind !== 'refused' && result.erasure.pending, undefined);
    assert.doesNotMatch(await filesIn(root), new RegExp(SECRET));
    const found = await holdfast.archive.get(id);
    assert.deepEqual([found?.digest, found?.documents], [before?.digest, before?.documents]);
    assert.deepEqual([found?.tags, found?.key, found?.erased?.by], [[], 'order-17', 'olga']);
    const documents = found?.documents.length;
    assert.deepEqual(await holdfast.archive.verify(id), { kind: 'erased', documents });
    await assert.rejects(holdfast.archive.document(id, 'record.json'), ERASED);
    const { items } = await holdfast.archive.list({ tag: SECRET });
    assert.deepEqual(items, []);
    assert.equal((await holdfast.erase(id, BY)).kind, 'already-erased');
  }));

test('F-14: an execution is archived after its erasure without values, and is intact', () =>
  scene(async ({ holdfast, root }) => {
    const id = await ended(holdfast);
    await holdfast.erase(id, BY);
    const { archived, failed } = await holdfast.archive.run();
    assert.deepEqual([archived, failed], [1, 0]);
    assert.doesNotMatch(await filesIn(root), new RegExp(SECRET));
    assert.equal((await holdfast.archive.get(id))?.erased?.by, 'olga');
    assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
    const history = await holdfast.archive.document(id, 'history.json');
    assert.match(Buffer.from(history ?? []).toString(), /"sha256"/);
  }));

test('F-14: documents that a stopped process left are erased with the rows', () =>
  scene(
    async ({ holdfast, root }) => {
      const id = await ended(holdfast);
      const { failed } = await holdfast.archive.run();
      assert.equal(failed, 1);
      assert.match(await filesIn(root), new RegExp(SECRET));
      await holdfast.erase(id, BY);
      assert.doesNotMatch(await filesIn(root), new RegExp(SECRET));
    },
    (archive) => ({
      ...archive,
      put: async (document: ArchiveDocument) => {
        if (document.path.endsWith('manifest.json')) throw new Error('the process stops here');
        await archive.put(document);
      },
    }),
  ));

test('F-14: documents that are written beside an erasure are erased when the rows stay', async () => {
  let erase: (() => Promise<unknown>) | undefined;
  await scene(
    async ({ holdfast, root }) => {
      const id = await ended(holdfast);
      erase = () => holdfast.erase(id, BY);
      const { removed } = await holdfast.archive.run();
      assert.equal(removed, 0);
      assert.doesNotMatch(await filesIn(root), new RegExp(SECRET));
      assert.equal((await holdfast.archive.run()).removed, 1);
    },
    (archive) => ({
      ...archive,
      put: async (document: ArchiveDocument) => {
        if (document.path.endsWith('manifest.json')) {
          const now = erase;
          erase = undefined;
          await now?.();
        }
        await archive.put(document);
      },
    }),
  );
});

test('F-14, F-16: an archive that is away leaves the erasure pending, and a repetition completes it', async () => {
  let isAway = false;
  await scene(
    async ({ holdfast, root, advance }) => {
      const id = await ended(holdfast);
      await holdfast.archive.run();
      advance(600_001);
      isAway = true;
      await assert.rejects(holdfast.erase(id, BY), /away/);
      const { erased } = (await holdfast.archive.get(id)) ?? {};
      assert.deepEqual(erased?.pending, { documents: true });
      const verified = await holdfast.archive.verify(id);
      assert.equal(verified?.kind, 'damaged');
      assert.ok(
        verified?.kind === 'damaged' && verified.damages.every(({ why }) => why === 'not-erased'),
      );
      isAway = false;
      assert.equal((await holdfast.erase(id, BY)).kind, 'erased');
      assert.doesNotMatch(await filesIn(root), new RegExp(SECRET));
      assert.equal((await holdfast.archive.verify(id))?.kind, 'erased');
      assert.equal((await holdfast.audit.list({ action: 'erase' })).items.length, 1);
    },
    (archive) => ({
      ...archive,
      put: (document: ArchiveDocument) =>
        isAway ? Promise.reject(new Error('the archive is away')) : archive.put(document),
    }),
  );
});

test('F-14: a process without the archive refuses to erase an archived execution', () =>
  scene(async ({ holdfast }) => {
    const id = await ended(holdfast);
    await holdfast.archive.run();
    const other = new Holdfast({ store: holdfast.store });
    await assert.rejects(other.erase(id, BY), { code: 'archive-missing' });
    assert.equal((await holdfast.archive.get(id))?.erased, undefined);
    await other.close();
  }));
