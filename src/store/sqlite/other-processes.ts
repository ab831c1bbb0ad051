// Wakes the other processes that have the same file open. A folder beside the file has one mark for
// each of them. A process writes to its own mark, and the others watch the folder. A wakeup may be
// lost, so waiters also poll (M-11).

import {
  type FSWatcher,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../support/clock.ts';
import { secureBytes } from '../../support/random.ts';
import { backgroundTimers } from '../../support/timer.ts';

const NOTIFY_EVERY_MS = 50;

/** The mark of a process that died stays. Such old ones are deleted. */
const MARK_AGE_MS_MAX = 86_400_000;

export class OtherProcesses {
  readonly #folder: string;
  readonly #name: string = Buffer.from(secureBytes(8)).toString('hex');
  #watcher: FSWatcher | undefined;
  #isPausing = false;
  #hasMore = false;
  #isClosed = false;

  constructor(file: string) {
    this.#folder = `${file}-wakeups`;
  }

  /** Call this after a commit. Writes at most once in `NOTIFY_EVERY_MS`, and never fails. */
  notify(): void {
    this.#hasMore = this.#isPausing;
    if (this.#isPausing || this.#isClosed) return;
    this.#isPausing = true;
    ignoringFaults(() => writeFileSync(this.#mark, '.', { mode: 0o600 }));
    void backgroundTimers.pause(NOTIFY_EVERY_MS).then(() => {
      this.#isPausing = false;
      if (this.#hasMore) this.notify();
    });
  }

  /** Calls `wake` after each write of another process. If the system cannot watch, nothing happens. */
  watch(wake: () => void): void {
    if (this.#watcher !== undefined || this.#isClosed) return;
    ignoringFaults(() => {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      this.#deleteOldMarks();
      this.#watcher = watch(this.#folder, { persistent: false }, (_, name) => {
        if (name !== this.#name) wake();
      });
      this.#watcher.on('error', () => this.#watcher?.close());
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
    ignoringFaults(() => rmSync(this.#mark, { force: true }));
    // Fails while other processes have marks in it.
    ignoringFaults(() => rmdirSync(this.#folder));
  }

  get #mark(): string {
    return join(this.#folder, this.#name);
  }

  #deleteOldMarks(): void {
    for (const name of readdirSync(this.#folder)) {
      const mark = join(this.#folder, name);
      const ageMs = systemClock.wallMs() - statSync(mark).mtimeMs;
      if (ageMs > MARK_AGE_MS_MAX) rmSync(mark, { force: true });
    }
  }
}

/** Wakeups are hints: a folder that cannot be written or watched costs at most a poll. */
function ignoringFaults(act: () => void): void {
  try {
    act();
  } catch {
    // The folder is missing, read-only or full, or the system has no watch left.
  }
}
