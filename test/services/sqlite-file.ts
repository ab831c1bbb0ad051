import { rmSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';

export interface SqliteFile {
  readonly file: string;
  remove(): Promise<void>;
}

let made: Promise<string> | undefined;

/**
 * A fresh file. Each process creates the tables once, at the time of this clock, and copies them.
 */
export async function freshSqliteFile(clock: Clock = systemClock): Promise<SqliteFile> {
  made ??= makeOnce(clock);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  const file = join(folder, 'store.db');
  await copyFile(await made, file);
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function makeOnce(clock: Clock): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'));
  const file = join(folder, 'empty.db');
  const store = await openSqliteStore({ file, clock });
  await store.close();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return file;
}
