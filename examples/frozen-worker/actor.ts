// A worker process of the demo: its reports, in order, and the signals to it.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Report, ReportOf, WorkerOrder } from './messages.ts';

export class Actor {
  readonly #process: ChildProcess;
  readonly #reports: Report[] = [];
  #ended: string | undefined;
  #wake: () => void = () => undefined;

  constructor(order: WorkerOrder) {
    this.#process = fork(join(import.meta.dirname, 'worker.ts'), {
      execPath: process.execPath,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process.on('message', (report) => {
      this.#reports.push(report as Report);
      this.#wake();
    });
    this.#process.once('exit', (code, signal) => {
      this.#ended = `Worker ${order.name} exited (${signal ?? `code ${code}`})`;
      this.#wake();
    });
    this.#process.send(order);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Returns the next report. Throws if it has another kind, because the order of reports is fixed. */
  async next<Kind extends Report['kind']>(kind: Kind): Promise<ReportOf<Kind>> {
    while (this.#reports.length === 0) {
      if (this.#ended !== undefined)
        throw new Error(`${this.#ended} before it reported "${kind}".`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const report = this.#reports.shift();
    if (report?.kind !== kind)
      throw new Error(`Expected "${kind}", got ${JSON.stringify(report)}.`);
    return report as ReportOf<Kind>;
  }

  freeze(): void {
    this.#process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process.kill('SIGCONT');
  }

  resume(): void {
    this.#process.send('resume');
  }

  /** Does not wait, so an exit handler can call it. */
  killNow(): void {
    this.#process.kill('SIGKILL');
  }

  async end(): Promise<void> {
    if (this.#ended !== undefined) return;
    const ended = once(this.#process, 'exit');
    this.killNow();
    await ended;
  }
}
