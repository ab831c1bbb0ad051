// holdfast dev <module>: runs its pipelines, and runs them anew whenever it is saved: a new release, activated, to which
// open executions move when their replay passes.

import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pipelinesIn } from '../engine/contract-of.ts';
import { Holdfast } from '../engine/holdfast.ts';
import type { Worker } from '../engine/worker.ts';
import type { ServerLog } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { thrownText } from '../support/options.ts';
import type { Beside } from './run-server.ts';

const BY = 'dev';
/** What runs is let finish this long before it goes on with the new code. */
const STOP_GRACE_MS = 2_000;

export function runModule(
  module: string,
): (store: CoordinatorStore, log: ServerLog) => Promise<Beside> {
  return async (store, log) => {
    const running = new Running(resolve(module), new Holdfast({ store }), log);
    await running.reload();
    running.watch();
    return running;
  };
}

class Running implements Beside {
  readonly #file: string;
  readonly #holdfast: Holdfast;
  readonly #log: ServerLog;
  #worker: Worker | undefined;
  #watcher: FSWatcher | undefined;
  #loaded = '';
  #loads = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(file: string, holdfast: Holdfast, log: ServerLog) {
    this.#file = file;
    this.#holdfast = holdfast;
    this.#log = log;
  }

  /** The folder: editors save by putting another file in its place. */
  watch(): void {
    this.#watcher = watch(dirname(this.#file), (_, name) => {
      if (name === null || name === basename(this.#file)) void this.reload();
    });
  }

  /** One after the other; what cannot be loaded is said, and what runs goes on. */
  reload(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#reload())
      .catch((error: unknown) => {
        this.#log.info('dev', { file: this.#file, 'not loaded': thrownText(error) });
      });
    return this.#turn;
  }

  async stop(): Promise<void> {
    this.#watcher?.close();
    await this.#turn;
    await this.#holdfast.close();
  }

  async #reload(): Promise<void> {
    const source = await readFile(this.#file, 'utf8');
    // A file that is being written is empty for a moment.
    if (source === this.#loaded || source.trim() === '') return;
    this.#loads += 1;
    const url = `${pathToFileURL(this.#file).href}?load=${this.#loads}`;
    const pipelines = pipelinesIn((await import(url)) as object);
    // The import reads it again: saved between the two, it would be a release of something else.
    if ((await readFile(this.#file, 'utf8')) !== source) return this.#reload();
    if (pipelines.length === 0) {
      throw new Error('It exports no pipeline: export const order = pipeline({ name, run }).');
    }
    this.#loaded = source;
    await this.#worker?.stop();
    const { releases } = this.#holdfast;
    const { release, moved, broken } = await releases.adopt(pipelines, { source, by: BY });
    const options = { owner: BY, release, stopGraceMs: STOP_GRACE_MS };
    this.#worker = await this.#holdfast.worker({ pipelines, ...options });
    const names = pipelines.map(({ name }) => name).join(', ');
    this.#log.info('dev', { release: release.name, pipelines: names, moved, left: broken.length });
    for (const { execution, why } of broken) this.#log.info('dev', { left: execution, why });
  }
}
