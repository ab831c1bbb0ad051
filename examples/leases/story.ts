// Shared code of the examples: a temporary folder, child processes, and printed lines. `play` exits with 0
// only if everything happens as described.

import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const STORY_MS_MAX = 60_000;

/** A child process that reports what it does. `child-process.ts` is its side. */
export class Actor<Report extends { readonly kind: string }> {
  readonly name: string;
  readonly reports: Report[] = [];
  readonly #process: ChildProcess;
  readonly #exit: Promise<void>;
  #wake: (() => void)[] = [];
  #ended = false;

  constructor(entry: string, name: string, order: object) {
    this.name = name;
    this.#process = fork(entry, {
      execPath: process.execPath,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process.on('message', (report) => this.#note(report as Report));
    this.#exit = new Promise((resolve) => {
      this.#process.once('exit', () => {
        this.#ended = true;
        this.#note(undefined);
        resolve();
      });
    });
    this.#process.send({ name, ...order });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The first report of this kind, already received or still to come. */
  async waitFor<Kind extends Report['kind']>(kind: Kind): Promise<Extract<Report, { kind: Kind }>> {
    type Wanted = Extract<Report, { kind: Kind }>;
    for (;;) {
      const found = this.reports.find((report): report is Wanted => report.kind === kind);
      if (found !== undefined) return found;
      await this.more(`"${kind}"`);
    }
  }

  /** Resolves when another report arrives. */
  async more(what: string): Promise<void> {
    if (this.#ended) throw new Error(`${this.name} exited before it reported ${what}.`);
    await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  /** Requests a stop and waits until the process has exited. */
  async stop(): Promise<void> {
    this.#process.send('stop');
    await this.#exit;
  }

  async kill(): Promise<void> {
    this.killNow();
    await this.#exit;
  }

  killNow(): void {
    this.#process.kill('SIGKILL');
  }

  freeze(): void {
    this.#process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process.kill('SIGCONT');
  }

  #note(report: Report | undefined): void {
    if (report !== undefined) this.reports.push(report);
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }
}

export class Story {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'holdfast-story-'));
  readonly #actors: { killNow(): void }[] = [];
  readonly #startedAt = performance.now();

  /** The process receives `order` and its name. */
  start<Report extends { readonly kind: string }>(
    entry: string,
    name: string,
    order: object,
  ): Actor<Report> {
    const actor = new Actor<Report>(entry, name, order);
    this.#actors.push(actor);
    return actor;
  }

  print(who: string, text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(2).padStart(6);
    process.stdout.write(`${seconds} s  ${who.padEnd(12)} ${text}\n`);
  }

  mustBe(isSo: boolean, what: string): void {
    if (!isSo) throw new Error(`The example failed. Expected: ${what}.`);
  }

  /** Runs the example, cleans up, and exits: with 0 if it succeeds, with 1 if it fails. */
  async play(title: string, plot: () => Promise<void>): Promise<never> {
    process.once('exit', () => {
      for (const actor of this.#actors) actor.killNow();
      rmSync(this.folder, { recursive: true, force: true });
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => process.exit(1));
    }
    setTimeout(
      () => this.#fail(`The example did not end within ${STORY_MS_MAX / 1_000} s.`),
      STORY_MS_MAX,
    ).unref();
    process.stdout.write(`\n${title}\n\n`);
    try {
      await plot();
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
    process.exit(0);
  }

  #fail(why: string): never {
    process.stderr.write(`${why}\n`);
    process.exit(1);
  }
}
