import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
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
  const deaths = [
    ...['before', 'within', 'after'].flatMap((phase) =>
      Array.from({ length: put }, (_, n) => ({ what: 'put' as const, phase, n: n + 1 })),
    ),
    ...['before', 'after'].flatMap((phase) =>
      Array.from({ length: commit }, (_, n) => ({ what: 'commit' as const, phase, n: n + 1 })),
    ),
  ];
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
