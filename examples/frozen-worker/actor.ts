// A worker process as the narrator sees it: what it tells, in order, and the signals it is sent.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Report, ReportOf, WorkerOrder } from './messages.ts';

export class Actor {
  readonly #process: ChildProcess;
  readonly #report: Report[] = [];
  #ended: string | undefined;
  #wake: () => void = () => undefined;

  constructor(order: WorkerOrder) {
    this.#process = fork(join(import.meta.dirname, 'worker.ts'), {
      execPath: process.execPath,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process.on('message', (report) => {
      this.#report.push(report as Report);
      this.#wake();
    });
    this.#process.once('exit', (code, signal) => {
      this.#ended = `worker ${order.name} ended (${signal ?? `exit code ${code}`})`;
      this.#wake();
    });
    this.#process.send(order);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The next news, which must be of this kind: the story is told in order. */
  async next<Kind extends Report['kind']>(kind: Kind): Promise<ReportOf<Kind>> {
    while (this.#report.length === 0) {
      if (this.#ended !== undefined) throw new Error(`${this.#ended} before it was "${kind}"`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const report = this.#report.shift();
    if (report?.kind !== kind) throw new Error(`expected "${kind}", got ${JSON.stringify(report)}`);
    return report as ReportOf<Kind>;
  }

  freeze(): void {
    this.#process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process.kill('SIGCONT');
  }

  goOn(): void {
    this.#process.send('go on');
  }

  /** Also from an exit handler, where nothing can be waited for. */
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
