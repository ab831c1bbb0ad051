// The file a log is written to: appended in batches, one write at a time, so that whoever reports
// never waits for a disk. What comes faster than the disk takes it is dropped and counted.

import { open, rename, stat } from 'node:fs/promises';
import { callSafely } from '../../lease/observer.ts';
import type { LogEntry } from './entry.ts';

export interface LogFileOptions {
  readonly file: string;
  /** Starts a new file, and keeps the old one as `<file>.1`, beyond this size; never by default. */
  readonly bytesMax?: number;
  /** How many old files are kept. Default 4. */
  readonly filesMax?: number;
  /** Told once, of the write that failed; nothing is written after it. */
  readonly onError?: (error: unknown) => void;
}

const WAITING_MAX = 10_000;
/** What can be had again later waits before it takes the place of what cannot. */
const OFFERED_MAX = 5_000;
const FILES_MAX_DEFAULT = 4;

export class LogFile {
  readonly #options: LogFileOptions;
  readonly #head: (part: number) => readonly LogEntry[];
  readonly #wallMs: () => number;
  #waiting: string[] = [];
  #dropped = 0;
  #droppedUntold = 0;
  #bytes: number | undefined;
  #parts = 0;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  constructor(
    options: LogFileOptions,
    writer: {
      /** What a file begins with. */
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

  /** The first write that failed, if one did; nothing is written after it. */
  get failure(): unknown {
    return this.#failure;
  }

  append(entry: LogEntry): void {
    if (this.#failure !== undefined || this.#waiting.length >= WAITING_MAX) {
      this.#dropped += 1;
      this.#droppedUntold += 1;
      return;
    }
    this.#push(entry);
  }

  /** False when there is no room for it now: offer it again after `flush`. It does not count as dropped. */
  offer(entry: LogEntry): boolean {
    if (this.#failure !== undefined || this.#waiting.length >= OFFERED_MAX) return false;
    this.#push(entry);
    return true;
  }

  #push(entry: LogEntry): void {
    this.#waiting.push(`${JSON.stringify(entry)}\n`);
    this.#writing ??= this.#write();
  }

  /** Resolves when everything appended so far is in the file. Rejects when it could not be. */
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
    if (this.#droppedUntold > 0) {
      const gap: LogEntry = { kind: 'dropped', at: this.#wallMs(), count: this.#droppedUntold };
      this.#droppedUntold = 0;
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

  /** A header; after a line that a killed process left unfinished it starts on a line of its own. */
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
