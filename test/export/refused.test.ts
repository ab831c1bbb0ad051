// Refusals of import and export, which change nothing.

import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { checkEverything } from '../../contract/execution/check.ts';
import { mustSubmit } from '../../contract/execution/worker.ts';
import { LineWriter } from '../../src/embedded/export-lines.ts';
import { unsealStore } from '../../src/embedded/export-store.ts';
import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import { openStore } from '../../src/embedded/open-store.ts';
import { StoreSealed } from '../../src/support/fault.ts';
import { holdfast, inFolder } from '../cli/spawned.ts';
import { refusesWhatWasMadeByHand } from './by-hand.ts';
import { exported, imported } from './exported.ts';

/** A store with some executions, exported: the file. */
async function exportedIn(folder: string, count: number = 3): Promise<string> {
  const store = await openStore(join(folder, 'old.db'));
  for (let n = 0; n < count; n += 1) await mustSubmit(store);
  await store.close();
  const file = join(folder, 'all.ndjson');
  await exported({ store: join(folder, 'old.db') }, file);
  return file;
}

/**
 * Refused with this reason. Afterwards the store is as empty as before, and an import still works.
 */
async function refuses(folder: string, file: string, why: RegExp): Promise<void> {
  const store = join(folder, 'new.db');
  await assert.rejects(() => imported({ store }, file), why);
  const opened = await openStore(store);
  await checkEverything(opened);
  assert.deepEqual(await opened.leases.events({ after: 0, limit: 1 }), {
    kind: 'events',
    events: [],
    next: 0,
  });
  await opened.close();
}

test('EX-9: a file that was cut anywhere is refused with its line, and nothing is imported', () =>
  inFolder(async (folder) => {
    const file = await exportedIn(folder);
    const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
    const part = join(folder, 'part.ndjson');
    for (let kept = 1; kept < lines.length; kept += 7) {
      await writeFile(part, `${lines.slice(0, kept).join('\n')}\n`);
      await refuses(folder, part, new RegExp(`damaged at line ${kept}[:,].*it was cut`));
    }
    await writeFile(part, lines.join('\n').slice(0, -20));
    await refuses(folder, part, new RegExp(`damaged at line ${lines.length},.*not valid JSON`));
    await writeFile(part, '');
    await refuses(folder, part, /not an export of Holdfast/);
    const packed = gzipSync(await readFile(file));
    await writeFile(join(folder, 'part.ndjson.gz'), packed.subarray(0, packed.length / 2));
    await refuses(folder, join(folder, 'part.ndjson.gz'), /cannot be decompressed further/);
    assert.equal((await imported({ store: join(folder, 'new.db') }, file)).kind, 'imported');
  }));

test('EX-9: a file with one changed byte is refused, near that byte', () =>
  inFolder(async (folder) => {
    const file = await exportedIn(folder, 2_500);
    const lines = (await readFile(file, 'utf8')).split('\n');
    const at = lines.findIndex((line) => line.startsWith('{"table":"history"'));
    const damaged = lines.with(
      at + 2_200,
      (lines[at + 2_200] ?? '').replace('submitted', 'Submitted'),
    );
    const broken = join(folder, 'broken.ndjson');
    await writeFile(broken, damaged.join('\n'));
    // Two digests of a thousand rows each come before it; the digest after it covers something
    // else.
    const trusted = at + 1 + 2_000 + 2;
    const why = new RegExp(
      `in the table "history": the digest does not match. The lines up to ${trusted} `,
    );
    await refuses(folder, broken, why);
    const missing = lines.toSpliced(at + 5, 1);
    await writeFile(broken, missing.join('\n'));
    await refuses(folder, broken, /in the table "history": the digest/);
  }));

test('EX-9: a file of another format, or with unknown columns, is refused', () =>
  inFolder(async (folder) => {
    const file = await exportedIn(folder);
    const text = await readFile(file, 'utf8');
    const other = join(folder, 'other.ndjson');
    await writeFile(other, text.replace('"format":1', '"format":2'));
    await refuses(folder, other, /comes from a newer version: its format is 2/);
    await writeFile(other, text.replace('"format":1', '"format":0'));
    await refuses(folder, other, /comes from an older version/);
    const header = JSON.parse(text.split('\n')[0] ?? '');
    const session = { table: 'session', columns: ['id', 'mood'], rows: [] };
    for (const [what, some] of [
      ['the table "dreams"', { ...session, table: 'dreams' }],
      ['"mood" of the table "session"', session],
    ] as const) {
      const writer = new LineWriter();
      await writeFile(other, writer.header(header) + writer.some(some) + writer.end());
      await refuses(folder, other, new RegExp(`has ${what}, which this version does not know`));
    }
  }));

test('EX-9: a handmade file is refused with the reason and the line', () =>
  inFolder((folder) => refusesWhatWasMadeByHand(folder, { store: join(folder, 'new.db') })));

test('EX-9: a store that is not empty is refused, so nothing is imported twice', () =>
  inFolder(async (folder) => {
    const file = await exportedIn(folder, 0);
    const store = join(folder, 'new.db');
    await imported({ store }, file);
    await assert.rejects(
      () => imported({ store }, file),
      /not empty \(event\)\. Nothing was imported/,
    );
    await assert.rejects(() => imported({ store: join(folder, 'old.db') }, file), StoreSealed);
  }));

test('EX-5, EX-7: a sealed store is not opened, can be exported again, and only its operator unseals it', () =>
  inFolder(async (folder) => {
    const file = await exportedIn(folder);
    const place = { store: join(folder, 'old.db') };
    await assert.rejects(() => openHoldfast(place), /"[^"]*old.db": This store is sealed: /);
    const again = await exported(place, join(folder, 'again.ndjson'));
    assert.equal(again.kind, 'exported-again');
    assert.equal(
      await readFile(join(folder, 'again.ndjson'), 'utf8'),
      await readFile(file, 'utf8'),
    );
    const doctor = await holdfast(['doctor', '--store', place.store]);
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, /!! +seal +the store is sealed[\s\S]*olga exported it to /);
    const serve = await holdfast(['serve', '--store', place.store, '--auth', 'off', '--port', '0']);
    assert.equal(serve.code, 1);
    assert.match(serve.problems, /This store is sealed/);
    await unsealStore({ ...place, actor: 'olga', reason: 'given up' });
    const opened = await openHoldfast(place);
    await opened.close();
    await assert.rejects(
      () => unsealStore({ ...place, actor: 'olga', reason: 'again' }),
      /not sealed/,
    );
  }));

test('EX-5: a store is not sealed for an impossible file, and no file is created for a missing store', () =>
  inFolder(async (folder) => {
    const place = { store: join(folder, 'old.db') };
    await assert.rejects(() => exported(place, join(folder, 'a.ndjson')), {
      code: 'store-unknown',
      message: /There is no store at this path or URL/,
    });
    assert.deepEqual(await readdir(folder), []);
    await (await openStore(place.store)).close();
    await assert.rejects(() => exported(place, join(folder, 'no', 'a.ndjson')), /ENOENT/);
    await writeFile(join(folder, 'taken.ndjson'), 'mine');
    await assert.rejects(
      () => exported(place, join(folder, 'taken.ndjson')),
      /exists\. Nothing was sealed/,
    );
    await (await openStore(place.store)).close();
  }));

test('EX-8: export, import and unseal on the command line, for people and for programs', () =>
  inFolder(async (cwd) => {
    await (await openStore(join(cwd, 'a.db'))).close();
    const without = await holdfast(['export', '--to', 'x.ndjson'], { cwd });
    assert.equal(without.code, 2);
    assert.match(without.problems, /--store is required/);
    const out = await holdfast(['export', '--store', 'a.db', '--to', 'x.ndjson.gz', '--json'], {
      cwd,
    });
    assert.equal(out.code, 0, out.problems);
    assert.deepEqual([JSON.parse(out.out).kind, JSON.parse(out.out).rows], ['exported', 0]);
    const named = { cwd, env: { HOLDFAST_STORE: 'a.db' } };
    const again = await holdfast(['export', '--to', 'y.ndjson.gz'], named);
    assert.equal(again.code, 0, again.problems);
    const back = await holdfast(['import', '--store', 'b.db', '--from', 'x.ndjson.gz'], { cwd });
    assert.equal(back.code, 0, back.problems);
    assert.match(back.out, /Imported 0 rows into b.db, in epoch 2/);
    const twice = await holdfast(['import', '--store', 'b.db', '--from', 'x.ndjson.gz', '--json'], {
      cwd,
    });
    assert.deepEqual([twice.code, JSON.parse(twice.out).code], [1, 'store-not-empty']);
    const open = await holdfast(['unseal', '--store', 'a.db', '--reason', 'try', '--json'], {
      cwd,
    });
    assert.deepEqual([open.code, JSON.parse(open.out).epoch], [0, 17], 'not the epoch of b.db');
    const twiceOpen = await holdfast(['unseal', '--store', 'a.db', '--reason', 'try'], { cwd });
    assert.equal(twiceOpen.code, 1, twiceOpen.problems);
  }));
