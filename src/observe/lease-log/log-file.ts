// The file of a log. It is written in batches, one write at a time, so that a report never waits
// for the disk. Entries that arrive faster than the disk accepts them are dropped and counted.

import { open, rename, stat } from 'node:fs/promises';
import { callSafely } from '../../lease/observer.ts';
import type { LogEntry } from './entry.ts';

/** Options of a log file. */
export interface LogFileOptions {
  /** The path of the file. It is appended to if it exists. */
  readonly file: string;
  /** Start a new file beyond this size, and keep the old one as `<file>.1`. By default never. */
  readonly bytesMax?: number;
  /** The number of old files to keep. Default 4. */
  readonly filesMax?: number;
  /** Called once, with the error of a write. Nothing is written after it. */
  readonly onError?: (error: unknown) => void;
}

const WAITING_MAX = 10_000;
/** Entries that can be read again later must leave room for those that cannot. */
const OFFERED_MAX = 5_000;
const FILES_MAX_DEFAULT = 4;

export class LogFile {
  readonly #options: LogFileOptions;
  readonly #head: (part: number) => readonly LogEntry[];
  readonly #wallMs: () => number;
  #waiting: string[] = [];
  #dropped = 0;
  #droppedUnreported = 0;
  #bytes: number | undefined;
  #parts = 0;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  constructor(
    options: LogFileOptions,
    writer: {
      /** The first entries of a file. */
      readonly head: (part: number) => readonly LogEntry[];
      readonly wallMs: () => number;
    },
  ) {
    this.#options = options;
    this.#head = writer.head;
    this.#wallMs = writer.wallMs;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** The error of the first failed write, if any. Nothing is written after it. */
  get failure(): unknown {
    return this.#failure;
  }

  append(entry: LogEntry): void {
    if (this.#failure !== undefined || this.#waiting.length >= WAITING_MAX) {
      this.#dropped += 1;
      this.#droppedUnreported += 1;
      return;
    }
    this.#push(entry);
  }

  /**
   * Returns false if there is no room now: offer the entry again after `flush`. It does not count
   * as dropped.
   */
  offer(entry: LogEntry): boolean {
    if (this.#failure !== undefined || this.#waiting.length >= OFFERED_MAX) return false;
    this.#push(entry);
    return true;
  }

  #push(entry: LogEntry): void {
    this.#waiting.push(`${JSON.stringify(entry)}\n`);
    this.#writing ??= this.#write();
  }

  /** Resolves when everything appended so far is in the file. Rejects if a write failed. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#writeBatch();
    } catch (fault) {
      this.#failure = fault;
      this.#dropped += this.#waiting.length;
      this.#waiting = [];
      callSafely(
        () => this.#options.onError?.(fault),
        () => undefined,
      );
    } finally {
      this.#writing = undefined;
    }
  }

  async #writeBatch(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    if (this.#droppedUnreported > 0) {
      const gap: LogEntry = { kind: 'dropped', at: this.#wallMs(), count: this.#droppedUnreported };
      this.#droppedUnreported = 0;
      lines.push(`${JSON.stringify(gap)}\n`);
    }
    const batch = lines.join('');
    const { file, bytesMax } = this.#options;
    const started = this.#bytes !== undefined;
    const full = bytesMax !== undefined && (this.#bytes ?? 0) + batch.length > bytesMax;
    if (started && full) await this.#rotate();
    const before = this.#bytes === undefined || this.#bytes === 0 ? await this.#opening() : '';
    const handle = await open(file, 'a', 0o600);
    try {
      const text = before + batch;
      await handle.appendFile(text);
      this.#bytes = (this.#bytes ?? 0) + Buffer.byteLength(text);
    } finally {
      await handle.close();
    }
  }

  /** Builds the header. It starts on a new line if a killed process left an unfinished one. */
  async #opening(): Promise<string> {
    const head = this.#head(this.#parts);
    const header = head.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    this.#parts += 1;
    const { file } = this.#options;
    const size = await stat(file).then(
      (found) => found.size,
      () => 0,
    );
    this.#bytes = size;
    if (size === 0) return header;
    const handle = await open(file, 'r');
    try {
      const last = Buffer.alloc(1);
      await handle.read(last, 0, 1, size - 1);
      return last.toString() === '\n' ? header : `\n${header}`;
    } finally {
      await handle.close();
    }
  }

  async #rotate(): Promise<void> {
    const { file, filesMax = FILES_MAX_DEFAULT } = this.#options;
    for (let number = filesMax - 1; number >= 1; number -= 1) {
      await rename(`${file}.${number}`, `${file}.${number + 1}`).catch(ignoreAbsent);
    }
    await rename(file, `${file}.1`);
    this.#bytes = 0;
  }
}

function ignoreAbsent(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'ENOENT') throw fault;
}
