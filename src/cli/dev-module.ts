// holdfast dev <module>: runs its pipelines, and runs them anew whenever it, or what it imports, is saved: a new release,
// activated, to which open executions move when their replay passes.

import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from '../engine/holdfast.ts';
import type { Worker } from '../engine/worker/worker-options.ts';
import { lineObserver } from '../execution/report.ts';
import { pipelinesIn } from '../features/releases/contract-api.ts';
import type { ServerLog } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { thrownText } from '../support/options.ts';
import { UsageProblem } from './command.ts';
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
    const running = new Running(
      resolve(module),
      new Holdfast({ store, observer: lineObserver((line) => log.info(line)) }),
      log,
    );
    await running.start();
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
  /** Why the last load failed, as it was said. */
  #failure: string | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(file: string, holdfast: Holdfast, log: ServerLog) {
    this.#file = file;
    this.#module = new FreshModule(file);
    this.#holdfast = holdfast;
    this.#log = log;
  }

  /** What has no pipelines is not what was meant; what cannot be loaded may be mended. */
  async start(): Promise<void> {
    try {
      await this.#reload();
    } catch (error) {
      if (error instanceof UsageProblem) {
        await this.stop();
        throw error;
      }
      this.#fail(error);
    }
    this.#watch();
  }

  /** One after the other; what cannot be loaded is said, and what runs goes on. */
  reload(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#reload())
      .catch((error: unknown) => this.#fail(error))
      .then(() => this.#watch());
    return this.#turn;
  }

  /** Once: of one save there is heard more than once. */
  #fail(error: unknown): void {
    const said = `${placeIn(error, this.#module.files) ?? this.#file}: ${thrownText(error)}`;
    if (said !== this.#failure) this.#log.fault('dev: not loaded', said);
    this.#failure = said;
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
    if (this.#failure !== undefined && CODE.test(file)) return true;
    return [...this.#module.files].includes(file);
  }

  async #reload(): Promise<void> {
    if (this.#failure === undefined && !this.#module.hasChanged) return;
    const { exported, source } = await this.#module.load();
    // Saved meanwhile, it would be a release of something else.
    if (this.#module.hasChanged) return this.#reload();
    const pipelines = pipelinesIn(exported);
    if (pipelines.length === 0) {
      throw new UsageProblem(
        `${this.#file} exports no pipeline, so there is nothing to run. It should have one such as: export const order = pipeline({ name: 'order', run }).`,
      );
    }
    const isMended = this.#failure !== undefined;
    this.#failure = undefined;
    if (isMended) this.#log.info('dev: loaded again', { file: this.#file });
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

/** The first of these files that it names, with the line. */
function placeIn(error: unknown, files: Iterable<string>): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const found = [...files].flatMap((file) =>
    [file, pathToFileURL(file).pathname].flatMap((name) => {
      const at = stack.indexOf(name);
      const [, line] = /^(?:\?[^:\s]*)?:(\d+)/.exec(stack.slice(at + name.length)) ?? [];
      return at < 0 || line === undefined ? [] : { at, place: `${file}:${line}` };
    }),
  );
  return found.sort((a, b) => a.at - b.at)[0]?.place;
}

// A module and all that it imports, loaded anew: for each load every file of it has another name, so that nothing of
// the load before is found again. Packages, and Holdfast itself, are loaded once.

const LOAD = 'holdfast-load';
const OWN_ROOT = new URL('..', import.meta.url).href;
const cached = createRequire(import.meta.url).cache;

interface LoadedModule {
  readonly exported: object;
  /** The text of all its files. */
  readonly source: string;
}

class FreshModule {
  readonly #file: string;
  readonly #hooks: { deregister(): void };
  /** Of the last load, as they were before it read them. */
  #texts: Map<string, string> = new Map();
  #loads = 0;

  constructor(file: string) {
    this.#file = file;
    this.#hooks = registerHooks({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context);
        if (!this.#isImportedBy(context.parentURL) || !isReloaded(found.url)) return found;
        this.#note(fileURLToPath(found.url));
        return { ...found, url: this.#named(found.url) };
      },
    });
  }

  /** Those of the last load, also when it failed. */
  get files(): Iterable<string> {
    return this.#texts.keys();
  }

  /** Since the last load. A file that is being written is empty or not there for a moment: that is no change. */
  get hasChanged(): boolean {
    if (this.#texts.size === 0) return true;
    return [...this.#texts].some(([file, before]) => {
      const now = textOf(file);
      return now !== before && now.trim() !== '';
    });
  }

  async load(): Promise<LoadedModule> {
    this.#loads += 1;
    for (const file of this.#texts.keys()) delete cached[file];
    this.#texts = new Map();
    this.#note(this.#file);
    const exported = (await import(this.#named(pathToFileURL(this.#file).href))) as object;
    const folder = dirname(this.#file);
    const texts = [...this.#texts].map(([file, text]) => [relative(folder, file), text] as const);
    return { exported, source: JSON.stringify(texts.sort(([a], [b]) => (a < b ? -1 : 1))) };
  }

  close(): void {
    this.#hooks.deregister();
  }

  #note(file: string): void {
    if (!this.#texts.has(file)) this.#texts.set(file, textOf(file));
  }

  #named(url: string): string {
    const named = new URL(url);
    named.searchParams.set(LOAD, `${this.#loads}`);
    return named.href;
  }

  /** By a file of this load. One that is required has no name but its path. */
  #isImportedBy(parent: string | undefined): boolean {
    if (parent === undefined || !parent.startsWith('file:')) return false;
    const load = new URL(parent).searchParams.get(LOAD);
    return load === null ? this.#texts.has(fileURLToPath(parent)) : load === `${this.#loads}`;
  }
}

function isReloaded(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(OWN_ROOT);
}

/** Empty where there is none. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
