// A worker process as the narrator sees it: what it tells, in order, and the signals it is sent.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { News, NewsOf, WorkerOrder } from './news.ts';

export class Actor {
  readonly #process: ChildProcess;
  readonly #news: News[] = [];
  #ended: string | undefined;
  #wake: () => void = () => undefined;

  constructor(order: WorkerOrder) {
    this.#process = fork(join(import.meta.dirname, 'worker.ts'), {
      execPath: process.execPath,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#process.on('message', (news) => {
      this.#news.push(news as News);
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
  async next<Kind extends News['kind']>(kind: Kind): Promise<NewsOf<Kind>> {
    while (this.#news.length === 0) {
      if (this.#ended !== undefined) throw new Error(`${this.#ended} before it was "${kind}"`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const news = this.#news.shift();
    if (news?.kind !== kind) throw new Error(`expected "${kind}", got ${JSON.stringify(news)}`);
    return news as NewsOf<Kind>;
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
