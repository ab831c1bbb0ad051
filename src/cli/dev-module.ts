// holdfast dev <module>: runs its pipelines, and runs them anew whenever it, or what it imports, is saved: a new release,
// activated, to which open executions move when their replay passes.

import { type FSWatcher, watch } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipelinesIn } from '../engine/contract-of.ts';
import { Holdfast } from '../engine/holdfast.ts';
import type { Worker } from '../engine/worker.ts';
import type { ServerLog } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { thrownText } from '../support/options.ts';
import { FreshModule } from './fresh-module.ts';
import type { Beside } from './run-server.ts';

const BY = 'dev';
/** What runs is let finish this long before it goes on with the new code. */
const STOP_GRACE_MS = 2_000;
/** Of files that may be what a load did not find. */
const CODE = /\.([cm]?[jt]sx?|json)$/;

export function runModule(
  module: string,
): (store: CoordinatorStore, log: ServerLog) => Promise<Beside> {
  return async (store, log) => {
    const running = new Running(resolve(module), new Holdfast({ store }), log);
    await running.reload();
    return running;
  };
}

class Running implements Beside {
  readonly #file: string;
  readonly #module: FreshModule;
  readonly #holdfast: Holdfast;
  readonly #log: ServerLog;
  readonly #watchers: Map<string, FSWatcher> = new Map();
  #worker: Worker | undefined;
  /** What runs. */
  #source = '';
  #hasFailed = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(file: string, holdfast: Holdfast, log: ServerLog) {
    this.#file = file;
    this.#module = new FreshModule(file);
    this.#holdfast = holdfast;
    this.#log = log;
  }

  /** One after the other; what cannot be loaded is said, and what runs goes on. */
  reload(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#reload())
      .catch((error: unknown) => {
        this.#hasFailed = true;
        this.#log.info('dev', { file: this.#file, 'not loaded': thrownText(error) });
      })
      .then(() => this.#watch());
    return this.#turn;
  }

  async stop(): Promise<void> {
    await this.#turn;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#module.close();
    await this.#holdfast.close();
  }

  /** Folders: editors save by putting another file in the place of one. */
  #watch(): void {
    for (const file of this.#module.files) {
      const folder = dirname(file);
      if (this.#watchers.has(folder)) continue;
      const heard = (name: string | null): void => {
        if (name === null || this.#concerns(join(folder, name))) void this.reload();
      };
      this.#watchers.set(
        folder,
        watch(folder, (_, name) => heard(name)),
      );
    }
  }

  #concerns(file: string): boolean {
    if (this.#hasFailed && CODE.test(file)) return true;
    return [...this.#module.files].includes(file);
  }

  async #reload(): Promise<void> {
    if (!this.#hasFailed && !this.#module.hasChanged) return;
    const { exported, source } = await this.#module.load();
    // Saved meanwhile, it would be a release of something else.
    if (this.#module.hasChanged) return this.#reload();
    const pipelines = pipelinesIn(exported);
    if (pipelines.length === 0) {
      throw new Error('It exports no pipeline: export const order = pipeline({ name, run }).');
    }
    this.#hasFailed = false;
    if (source === this.#source) return;
    await this.#worker?.stop();
    const { releases } = this.#holdfast;
    const { release, moved, broken } = await releases.adopt(pipelines, { source, by: BY });
    const options = { owner: BY, release, stopGraceMs: STOP_GRACE_MS };
    this.#worker = await this.#holdfast.worker({ pipelines, ...options });
    this.#source = source;
    const names = pipelines.map(({ name }) => name).join(', ');
    this.#log.info('dev', { release: release.name, pipelines: names, moved, left: broken.length });
    for (const { execution, why } of broken) this.#log.info('dev', { left: execution, why });
  }
}
