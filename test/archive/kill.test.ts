import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { openFolderArchive } from '../../src/archive/folder.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { sample } from '../services/tier.ts';
import type { ArchiverArgs } from './children/archiver.ts';

const home = await mkdtemp(join(tmpdir(), 'hf-archive-kill-'));
after(() => rm(home, { recursive: true, force: true }));

const note = pipeline({
  name: 'note',
  run: async (ctx, n: number) => {
    await ctx.attach('n', `${n}`);
    return ctx.step('n', () => n);
  },
});

/** A file with ended executions, from which every round begins. */
async function prepared(): Promise<{ readonly file: string; readonly ids: readonly string[] }> {
  const file = join(home, 'ended.db');
  const store = await openSqliteStore({ file });
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [note], pollMs: 20 });
  const handles = await Promise.all([1, 2].map((n) => holdfast.submit(note, n)));
  await Promise.all(handles.map((each) => each.result()));
  await holdfast.close();
  await store.close();
  return { file, ids: handles.map(({ id }) => id) };
}

interface Ran {
  readonly run: { readonly removed: number };
  readonly erased: number;
  readonly counts: { readonly put: number; readonly commit: number };
}

/** Undefined if the process was killed. */
async function archiver(args: ArchiverArgs): Promise<Ran | undefined> {
  const child = join(import.meta.dirname, 'children/archiver.ts');
  try {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [child, JSON.stringify(args)]);
    return JSON.parse(stdout) as Ran;
  } catch (error) {
    if ((error as { readonly signal?: string }).signal === 'SIGKILL') return undefined;
    throw error;
  }
}

/**
 * Nothing is lost: each execution is in the store, or archived and intact. Returns how many are in
 * the store.
 */
async function kept({ file, folder }: ArchiverArgs, ids: readonly string[]): Promise<number> {
  const store = await openSqliteStore({ file });
  const retention = { archive: openFolderArchive({ folder }) };
  const holdfast = new Holdfast({ store, retention });
  let there = 0;
  for (const id of ids) {
    if ((await holdfast.read(id)) !== undefined) there += 1;
    else assert.equal((await holdfast.archive.verify(id))?.kind, 'intact', id);
  }
  const { items } = await holdfast.archive.list();
  assert.equal(items.length, ids.length - there, 'each is in one place');
  await holdfast.close();
  await store.close();
  return there;
}

function deathsOf({ put, commit }: Ran['counts']) {
  return [
    ...['before', 'within', 'after'].flatMap((phase) =>
      Array.from({ length: put }, (_, n) => ({ what: 'put' as const, phase, n: n + 1 })),
    ),
    ...['before', 'after'].flatMap((phase) =>
      Array.from({ length: commit }, (_, n) => ({ what: 'commit' as const, phase, n: n + 1 })),
    ),
  ];
}

test('F-6, F-9: a process that is killed at any point of archiving loses nothing and doubles nothing', async (t) => {
  const { file: first, ids } = await prepared();
  const round = async (name: string): Promise<ArchiverArgs> => {
    const file = join(home, `${name}.db`);
    await copyFile(first, file);
    return { file, folder: join(home, name) };
  };
  const whole = await round('whole');
  const ran = await archiver(whole);
  assert.equal(ran?.run.removed, ids.length);
  assert.equal(await kept(whole, ids), 0);
  const { put, commit } = ran.counts;
  const deaths = deathsOf({ put, commit });
  const chosen = sample('crash points, archiving', deaths, 4);
  for (const dieAt of chosen) {
    const args = await round(`${dieAt.what}-${dieAt.phase}-${dieAt.n}`);
    assert.equal(await archiver({ ...args, dieAt }), undefined, JSON.stringify(dieAt));
    const left = await kept(args, ids);
    const again = await archiver(args);
    assert.equal(again?.run.removed, left, JSON.stringify(dieAt));
    assert.equal(await kept(args, ids), 0);
    const [day = ''] = await readdir(join(args.folder, 'default'));
    const places = await readdir(join(args.folder, 'default', day));
    assert.equal(places.length, ids.length, `one place for each: ${JSON.stringify(dieAt)}`);
  }
  t.diagnostic(`${chosen.length} of ${deaths.length} deaths`);
});

const SECRET = 'ada@example.org';

const mail = pipeline({
  name: 'mail',
  run: async (ctx, to: string) => {
    await ctx.attach('letter', `Dear ${to}`);
    return ctx.step('send', () => ({ to }));
  },
});

/** One execution in the archive, and one in the store, both with the secret. */
async function preparedSecrets(): Promise<{ readonly args: ArchiverArgs; readonly ids: string[] }> {
  const args = { file: join(home, 'secrets.db'), folder: join(home, 'secrets') };
  const store = await openSqliteStore({ file: args.file });
  const retention = {
    archive: openFolderArchive({ folder: args.folder }),
    keepMs: { completed: 0 },
  };
  const ids: string[] = [];
  for (const isArchived of [true, false]) {
    // Without retention, so that no duty archives the second one.
    const holdfast = new Holdfast({ store });
    await holdfast.worker({ pipelines: [mail], pollMs: 20 });
    const { id, result } = await holdfast.submit(mail, SECRET);
    await result();
    await holdfast.close();
    const archiving = new Holdfast({ store, retention });
    if (isArchived) await archiving.archive.run();
    await archiving.close();
    ids.push(id);
  }
  await store.close();
  return { args, ids };
}

/** True if the state of the erasure, as reads show it, agrees with what is stored. */
async function isErased({ file, folder }: ArchiverArgs, id: string): Promise<boolean> {
  const store = await openSqliteStore({ file });
  const archive = openFolderArchive({ folder });
  const holdfast = new Holdfast({ store, retention: { archive } });
  const execution = await holdfast.read(id);
  const entry = await holdfast.archive.get(id);
  const erased = (execution ?? entry)?.erased;
  const isDone = erased !== undefined && erased.pending === undefined;
  const stored = JSON.stringify([execution, await holdfast.history(id)]);
  assert.equal(stored.includes(SECRET), execution !== undefined && erased === undefined);
  if (entry !== undefined) {
    const kind = (await holdfast.archive.verify(id))?.kind;
    if (erased === undefined) assert.equal(kind, 'intact', 'nothing was written yet');
    if (isDone) assert.equal(kind, 'erased');
  }
  const { items } = await holdfast.audit.list({ action: 'erase', execution: id });
  assert.equal(items.length, erased === undefined ? 0 : 1, 'one record, with the first write');
  await holdfast.close();
  await store.close();
  return isDone;
}

/** How many files of the archive have the secret. */
async function secretsIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile());
  const texts = await Promise.all(
    files.map((each) => readFile(join(each.parentPath, each.name), 'latin1')),
  );
  return texts.filter((text) => text.includes(SECRET)).length;
}

test('F-14, F-16: a process that is killed at any point of an erasure leaves a visible state, and a repetition completes it', async (t) => {
  const { args: first, ids } = await preparedSecrets();
  assert.ok((await secretsIn(first.folder)) > 0);
  const round = async (name: string): Promise<ArchiverArgs> => {
    const args = { file: join(home, `${name}.db`), folder: join(home, name), erases: ids };
    await copyFile(first.file, args.file);
    await cp(first.folder, args.folder, { recursive: true });
    return args;
  };
  const erasedAll = async (args: ArchiverArgs): Promise<void> => {
    for (const id of ids) assert.equal(await isErased(args, id), true, id);
    assert.equal(await secretsIn(args.folder), 0);
  };
  const whole = await round('erased');
  const ran = await archiver(whole);
  assert.equal(ran?.erased, ids.length);
  await erasedAll(whole);
  assert.equal((await archiver(whole))?.erased, 0, 'a repetition has nothing to do');
  const deaths = deathsOf(ran.counts);
  const chosen = sample('crash points, erasing', deaths, 4);
  for (const dieAt of chosen) {
    const name = JSON.stringify(dieAt);
    const args = await round(`erase-${dieAt.what}-${dieAt.phase}-${dieAt.n}`);
    assert.equal(await archiver({ ...args, dieAt }), undefined, name);
    let left = 0;
    for (const id of ids) if (!(await isErased(args, id))) left += 1;
    assert.equal((await archiver(args))?.erased, left, name);
    await erasedAll(args);
  }
  t.diagnostic(`${chosen.length} of ${deaths.length} deaths`);
});
