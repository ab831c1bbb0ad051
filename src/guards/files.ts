// The fence at a file: appends and replacements by processes of one host that all use this guard.
//
// A file has no transactions, so the guard uses a SQLite file beside it (`<file>.fence`). This file
// keeps the mark, and the guard holds its write lock while it writes the file. The operating system
// releases the lock when a process dies. A frozen process keeps it, so a successor waits instead of
// entering while that process could wake up in the middle of a write.

import { AsyncLocalStorage } from 'node:async_hooks';
import { constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { InvalidInput } from '../support/fault.ts';
import { integerOption, rejectUnknownOptions } from '../support/options.ts';
import { systemTimers, type Timers } from '../support/timer.ts';
import {
  type Fenced,
  type GuardResult,
  needFunction,
  parseFenced,
  parseMark,
  refuse,
  type Stale,
  staleAt,
} from './mark.ts';
import { type Busy, WAIT_MS, WAIT_MS_MAX } from './marks.ts';
import { markStatements, QUESTION } from './sql.ts';

export { type Fenced, type GuardResult, type Stale, StaleFence } from './mark.ts';

/** Options of `FileGuard`. */
export interface FileGuardOptions {
  /** Milliseconds to wait for another writer, up to an hour. Default 10,000. */
  readonly waitMs?: number;
  /** The timers. Default: those of Node. Replace them in tests. */
  readonly timers?: Timers;
}

/**
 * The result of a write.
 *
 * - `written`: it was done; `result` is what the effect returned.
 * - `stale`: a later holder has shown a greater fence. Nothing was done.
 * - `busy`: another writer, perhaps a frozen one, was inside all the time. Nothing was done.
 */
export type FileResult<Result> =
  | { readonly kind: 'written'; readonly result: Result }
  | Stale
  | Busy;

const SQL = markStatements('FileGuard', {}, QUESTION);

/** SQLite's result code for a lock that another connection holds. */
const SQLITE_BUSY = 5;
const RETRY_MS_MAX = 20;

/** An effect under way, and the one around it. */
interface Stay {
  readonly path: string;
  readonly around: Stay | undefined;
  isOver: boolean;
}

/** The effects that the calling code is part of. */
const stays: AsyncLocalStorage<Stay> = new AsyncLocalStorage();

/**
 * Checks fences at a file, for processes of one host that all use this guard. The mark is in
 * `<file>.fence`.
 *
 * Methods throw `InvalidInput` for invalid arguments, and the system's error if the file cannot be
 * written.
 *
 * @example
 * const guard = new FileGuard('/var/lib/app/ledger.log');
 * await guard.admit(lease);
 * await guard.append(lease, 'paid invoice 7\n');
 * await guard.close();
 */
export class FileGuard {
  /** The file, with symbolic links resolved. */
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #waitMs: number;
  readonly #timers: Timers;
  /** Writers of this object take turns; SQLite makes other objects and processes wait. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(path: string, options: FileGuardOptions = {}) {
    rejectUnknownOptions('FileGuard', options, ['waitMs', 'timers']);
    const range = { min: 0, max: WAIT_MS_MAX };
    this.#waitMs = integerOption('waitMs', options.waitMs ?? WAIT_MS, range);
    this.#timers = options.timers ?? systemTimers;
    this.path = trueFile(path);
    // A timeout would wait for locks inside SQLite and block the event loop, heartbeats included.
    this.#database = new DatabaseSync(`${this.path}.fence`, { timeout: 0 });
    // A raised mark must survive a power failure. With a rollback journal, that takes EXTRA.
    this.#database.exec('pragma synchronous = extra');
  }

  /**
   * Shuts out every earlier holder. Call it right after the grant, before the first read or write.
   */
  async admit(fenced: Fenced): Promise<GuardResult | Busy> {
    const result = await this.within(fenced, () => undefined);
    return result.kind === 'written' ? { kind: 'current' } : result;
  }

  /** Appends to the file, creates it if needed, and flushes it to the disk. */
  async append(fenced: Fenced, bytes: Uint8Array | string): Promise<FileResult<void>> {
    checkBytes(bytes, 'append');
    return await this.within(fenced, () => writeFlushed(this.path, { flags: APPEND, bytes }));
  }

  /**
   * Replaces the file. Readers see the old content or the new, also after a crash. Its permissions
   * stay.
   */
  async replace(fenced: Fenced, bytes: Uint8Array | string): Promise<FileResult<void>> {
    checkBytes(bytes, 'replace');
    return await this.within(fenced, async () => {
      const mode = await assertOneName(this.path);
      const folder = dirname(this.path);
      // One name is enough, because no other writer is inside. Remove what a crash left.
      const draft = join(folder, `.${basename(this.path)}.draft`);
      await rm(draft, { force: true });
      await writeFlushed(draft, { flags: DRAFT, bytes, mode });
      await rename(draft, this.path);
      await flushFolder(folder);
    });
  }

  /**
   * Runs any effect under the mark of this file. No other writer is inside until it settles.
   *
   * The effect cannot use a guard of the same file.
   */
  async within<Result>(
    fenced: Fenced,
    effect: () => Result | Promise<Result>,
  ): Promise<FileResult<Result>> {
    const presented = parseFenced(fenced);
    const what = 'The second argument does the effect';
    needFunction(effect, { what, pass: 'guard.within(lease, async () => { … })' });
    this.#assertOutside();
    const waitLimit = new WaitLimit(this.#waitMs, this.#timers);
    const turn = Promise.withResolvers<void>();
    const before = this.#turn;
    this.#turn = before.then(() => turn.promise);
    try {
      const isMine = await Promise.race([
        before.then(() => true),
        waitLimit.over.then(() => false),
      ]);
      if (!isMine) return { kind: 'busy', resource: presented.key };
      return await this.#inside(presented, effect, waitLimit);
    } finally {
      waitLimit.stop();
      turn.resolve();
    }
  }

  /** Waits for writes under way and closes the guard. The mark stays. */
  async close(): Promise<void> {
    this.#assertOutside();
    await this.#turn;
    if (this.#database.isOpen) this.#database.close();
  }

  /** Code inside an effect would wait for itself for ever, and block all later writers. */
  #assertOutside(): void {
    for (let stay = stays.getStore(); stay !== undefined; stay = stay.around) {
      if (stay.path !== this.path || stay.isOver) continue;
      throw new InvalidInput(
        `This call is inside an effect on "${this.path}", so it would wait for itself. ` +
          'Write to the file directly there, or call this after the effect.',
      );
    }
  }

  async #inside<Result>(
    { key, fence }: Fenced,
    effect: () => Result | Promise<Result>,
    waitLimit: WaitLimit,
  ): Promise<FileResult<Result>> {
    while (await this.#begin(waitLimit)) {
      try {
        const mark = this.#readMark(key);
        if (mark > fence) return staleAt({ key, fence }, mark);
        if (mark === fence) return { kind: 'written', result: await this.#perform(effect) };
        // Commit the raise on its own, before the effect: a crash during the effect must not lower
        // the mark again.
        this.#database.prepare(SQL.raise).get(key, fence);
        this.#database.exec('commit');
      } finally {
        if (this.#database.isTransaction) this.#database.exec('rollback');
      }
    }
    return { kind: 'busy', resource: key };
  }

  async #perform<Result>(effect: () => Result | Promise<Result>): Promise<Result> {
    await assertOneName(this.path);
    const stay: Stay = { path: this.path, around: stays.getStore(), isOver: false };
    try {
      return await stays.run(stay, effect);
    } finally {
      stay.isOver = true;
    }
  }

  #readMark(key: string): number {
    this.#database.exec(SQL.createTable);
    const row = this.#database.prepare(SQL.read).get(key);
    return row === undefined ? 0 : parseMark(key, row['fence']);
  }

  async #begin(waitLimit: WaitLimit): Promise<boolean> {
    for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, RETRY_MS_MAX)) {
      try {
        this.#database.exec('begin immediate');
        return true;
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      if (waitLimit.isOver) return false;
      await this.#timers.pause(pauseMs);
    }
  }
}

/**
 * One time limit for all waits of a call: for its turn in this process, then for other processes.
 */
class WaitLimit {
  isOver: boolean;
  readonly over: Promise<void>;
  readonly stop: () => void;

  constructor(waitMs: number, timers: Timers) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.isOver = waitMs === 0;
    this.stop = timers.after(waitMs, () => {
      this.isOver = true;
      resolve();
    });
  }
}

function checkBytes(bytes: Uint8Array | string, method: 'append' | 'replace'): void {
  if (typeof bytes === 'string' || bytes instanceof Uint8Array) return;
  const what = 'The second argument is what to write, a string or a Uint8Array';
  refuse(bytes, { what, pass: `guard.${method}(lease, 'one line\\n')` });
}

/** The lower byte is the code; the others only refine it. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  return typeof error.errcode === 'number' && (error.errcode & 0xff) === SQLITE_BUSY;
}

/** Does not follow a symbolic link that appears at the last moment. */
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;
const APPEND = WRITE | constants.O_APPEND;
const DRAFT = WRITE | constants.O_EXCL;

interface Write {
  readonly flags: number;
  readonly bytes: Uint8Array | string;
  /** The permissions of the file. By default those of a new file. */
  readonly mode?: number | undefined;
}

async function writeFlushed(path: string, { flags, bytes, mode }: Write): Promise<void> {
  // Start with restricted permissions, so that the file is never more open than it will be.
  const file = await open(path, flags, mode === undefined ? 0o666 : mode & 0o600);
  try {
    if (mode !== undefined) await file.chmod(mode);
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The new name is durable only once the folder is flushed. */
async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

// Resolves the file that a path leads to. The mark belongs to the file, so every path to it must
// lead to one mark.

/** The number of links that Linux follows. */
const LINKS_MAX = 40;

/**
 * Returns the path without symbolic links, even if the file does not exist yet. Its folder must
 * exist.
 */
function trueFile(path: string): string {
  if (typeof path !== 'string' || path === '') {
    const what = 'FileGuard needs the path of the file that it guards';
    refuse(path, { what, pass: "new FileGuard('report.jsonl')" });
  }
  let found = resolve(path);
  for (let links = 0; links < LINKS_MAX; links += 1) {
    found = join(trueFolder(dirname(found)), basename(found));
    if (lstatSync(found, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return found;
    found = resolve(dirname(found), readlinkSync(found));
  }
  throw new InvalidInput(`"${path}" is a loop of symbolic links. Pass the path of a file.`);
}

function trueFolder(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return realpathSync(folder);
  throw new InvalidInput(
    found === undefined
      ? `FileGuard: the folder "${folder}" does not exist, and it must hold the mark beside the ` +
          'file. Create it first: mkdirSync(folder, { recursive: true }).'
      : `FileGuard: "${folder}" is not a folder. Pass a path in a folder.`,
  );
}

/**
 * Returns the permissions of the file, or undefined if there is none. Refuses a file with several
 * names.
 */
async function assertOneName(path: string): Promise<number | undefined> {
  const found = await lstat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) {
    throw new InvalidInput(
      `"${path}" became a symbolic link after its guard was made. Nothing was written. ` +
        'Make a guard for the file that it points to.',
    );
  }
  if (found.isFile() && found.nlink > 1) {
    throw new InvalidInput(
      `"${path}" has ${found.nlink} hard links, and a guard knows the mark of only one. ` +
        'Nothing was written. Remove the other links, or copy the file.',
    );
  }
  return found.mode & 0o7777;
}
