// The fence at a file: appends and replacements by processes of one host that all use this guard.
//
// A file has no transactions, so a SQLite file beside it (`<file>.fence`) gives one: it keeps the
// mark, and its write lock is held while the file is written. The system releases that lock when a
// process dies, however it dies, and keeps it while a process is merely frozen: a successor then
// waits, instead of breaking in on somebody who would wake up in the middle of a write.

import { open, rename } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { rejectUnknownOptions, wholeNumber } from '../support/options.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import { type Fenced, type GuardAnswer, parseFenced, parseMark, type Stale } from './mark.ts';
import { type Busy, PATIENCE_MS, PATIENCE_MS_MAX } from './marks.ts';
import { DEFAULT_TABLE, markStatements, QUESTION } from './sql.ts';

export { type Fenced, type GuardAnswer, type Stale, StaleFence } from './mark.ts';

export interface FileGuardOptions {
  /** How long to wait for another writer. Default 10 s. */
  readonly patienceMs?: number;
  readonly timers?: Timers;
}

export type FileAnswer<Result> =
  | { readonly kind: 'written'; readonly result: Result }
  | Stale
  /** Another writer, perhaps a frozen one, has been inside all the time. Nothing was done. */
  | Busy;

const SQL = markStatements(DEFAULT_TABLE, QUESTION);

/** SQLite's result code for a lock that somebody else has. */
const SQLITE_BUSY = 5;
const RETRY_MS_MAX = 20;

export class FileGuard {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #patienceMs: number;
  readonly #timers: Timers;
  /** Writers of this object take turns; SQLite makes other objects and processes wait. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(path: string, options: FileGuardOptions = {}) {
    rejectUnknownOptions('FileGuard', options, ['patienceMs', 'timers']);
    const range = { min: 0, max: PATIENCE_MS_MAX };
    this.#patienceMs = wholeNumber('patienceMs', options.patienceMs ?? PATIENCE_MS, range);
    this.#timers = options.timers ?? systemTimers;
    this.path = resolve(path);
    // Zero: a wait inside SQLite would stop the event loop, heartbeats included.
    this.#database = new DatabaseSync(`${this.path}.fence`, { timeout: 0 });
    // A raised mark must survive a power failure; with a rollback journal that takes EXTRA.
    this.#database.exec('pragma synchronous = extra');
  }

  /** Shuts out every earlier holder. Right after the grant, before the first read or write. */
  async admit(fenced: Fenced): Promise<GuardAnswer | Busy> {
    const answer = await this.within(fenced, () => undefined);
    return answer.kind === 'written' ? { kind: 'current' } : answer;
  }

  /** Adds to the end of the file, which is made if need be, and flushes it to the disk. */
  async append(fenced: Fenced, bytes: Uint8Array | string): Promise<FileAnswer<void>> {
    return await this.within(fenced, () => writeFlushed(this.path, 'a', bytes));
  }

  /** Replaces the whole file: readers see the old content or the new, also after a crash. */
  async replace(fenced: Fenced, bytes: Uint8Array | string): Promise<FileAnswer<void>> {
    return await this.within(fenced, async () => {
      const folder = dirname(this.path);
      // One name is enough: nobody else is inside. What a crash left is overwritten by the next.
      const draft = join(folder, `.${basename(this.path)}.draft`);
      await writeFlushed(draft, 'w', bytes);
      await rename(draft, this.path);
      await flushFolder(folder);
    });
  }

  /** Any effect that this file stands for. No other writer is inside until it settles. */
  async within<Result>(
    fenced: Fenced,
    effect: () => Result | Promise<Result>,
  ): Promise<FileAnswer<Result>> {
    const turn = this.#turn.then(() => this.#inside(parseFenced(fenced), effect));
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }

  /** Waits for writes under way. The mark stays. */
  async close(): Promise<void> {
    await this.#turn;
    if (this.#database.isOpen) this.#database.close();
  }

  async #inside<Result>(
    { key, fence }: Fenced,
    effect: () => Result | Promise<Result>,
  ): Promise<FileAnswer<Result>> {
    while (await this.#begin()) {
      try {
        const mark = this.#readMark(key);
        if (mark > fence) {
          const newest = parseMark(key, mark);
          return { kind: 'stale', resource: key, presented: fence, newest };
        }
        if (mark === fence) return { kind: 'written', result: await effect() };
        // On the disk before the effect, and so in a transaction of its own: a crash in the middle
        // of the effect must not lower the mark again.
        this.#database.prepare(SQL.raise).get(key, fence);
        this.#database.exec('commit');
      } finally {
        if (this.#database.isTransaction) this.#database.exec('rollback');
      }
    }
    return { kind: 'busy', resource: key };
  }

  #readMark(key: string): number {
    this.#database.exec(SQL.createTable);
    const row = this.#database.prepare(SQL.read).get(key);
    return row === undefined ? 0 : parseMark(key, row['fence']);
  }

  async #begin(): Promise<boolean> {
    for (let waitedMs = 0, pauseMs = 1; ; waitedMs += pauseMs) {
      try {
        this.#database.exec('begin immediate');
        return true;
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      if (waitedMs >= this.#patienceMs) return false;
      pauseMs = Math.min(2 * pauseMs, RETRY_MS_MAX);
      await this.#timers.pause(pauseMs);
    }
  }
}

/** The lower byte is the code; the others only say more about it. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  return typeof error.errcode === 'number' && (error.errcode & 0xff) === SQLITE_BUSY;
}

async function writeFlushed(
  path: string,
  flags: 'a' | 'w',
  bytes: Uint8Array | string,
): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The new name is as durable as its content only once the folder is flushed. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
