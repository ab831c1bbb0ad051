// `holdfast dev <module>` runs a module's pipelines and reloads them whenever the module or one of
// its imports is saved. Each save becomes a new release and is activated. Open executions whose
// replay passes are repinned to it.

import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from '../engine/holdfast.ts';
import type { Worker } from '../engine/worker/worker-options.ts';
import { lineObserver } from '../execution/report.ts';
import { pipelinesIn } from '../features/releases/contract-api.ts';
import { faultLogOf } from '../server/server-options.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { thrownText } from '../support/options.ts';
import { UsageProblem } from './command.ts';
import type { CliLog } from './log.ts';
import type { Beside } from './run-server.ts';

const ACTOR = 'dev';
/** Running steps may finish for this long before the new code takes over. */
const STOP_GRACE_MS = 2_000;
/** Files that may be an import that the last load did not find. */
const CODE = /\.([cm]?[jt]sx?|json)$/;

export function runModule(
  module: string,
): (store: CoordinatorStore, log: CliLog) => Promise<Beside> {
  return async (store, log) => {
    const running = new Running(
      resolve(module),
      new Holdfast({ store, observer: lineObserver((level, line) => log[level](line)) }),
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
  readonly #log: CliLog;
  readonly #watchers: Map<string, FSWatcher> = new Map();
  #worker: Worker | undefined;
  /** The source that runs now. */
  #source = '';
  /** The reported reason why the last load failed. */
  #failure: string | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(file: string, holdfast: Holdfast, log: CliLog) {
    this.#file = file;
    this.#module = new FreshModule(file);
    this.#holdfast = holdfast;
    this.#log = log;
  }

  /**
   * Fails if the module has no pipelines, which is a mistake in the command. A module that does not
   * load may still be repaired.
   */
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

  /** Reloads one at a time. If a load fails, reports it and keeps the old code running. */
  reload(): Promise<void> {
    this.#turn = this.#turn
      .then(() => this.#reload())
      .catch((error: unknown) => this.#fail(error))
      .then(() => this.#watch());
    return this.#turn;
  }

  /** Reports each failure once, because one save triggers several events. */
  #fail(error: unknown): void {
    const failure = `${placeIn(error, this.#module.files) ?? this.#file}: ${thrownText(error)}`;
    if (failure !== this.#failure) faultLogOf(this.#log)('module-not-loaded', failure);
    this.#failure = failure;
  }

  async stop(): Promise<void> {
    await this.#turn;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#module.close();
    await this.#holdfast.close();
  }

  /** Watches folders, because editors save by replacing a file. */
  #watch(): void {
    const before = this.#watchers.size;
    for (const file of this.#module.files) {
      const folder = dirname(file);
      if (this.#watchers.has(folder)) continue;
      const onChange = (name: string | null): void => {
        if (name === null || this.#concerns(join(folder, name))) void this.reload();
      };
      this.#watchers.set(
        folder,
        watch(folder, (_, name) => onChange(name)),
      );
    }
    // A file that was saved between its load and the first watch causes no event.
    if (this.#watchers.size > before && this.#module.hasChanged) void this.reload();
  }

  #concerns(file: string): boolean {
    if (this.#failure !== undefined && CODE.test(file)) return true;
    return [...this.#module.files].includes(file);
  }

  async #reload(): Promise<void> {
    if (this.#failure === undefined && !this.#module.hasChanged) return;
    const { exported, source } = await this.#module.load();
    // The file changed during the load, so the loaded code is not the noted source.
    if (this.#module.hasChanged) return this.#reload();
    const pipelines = pipelinesIn(exported);
    if (pipelines.length === 0) {
      throw new UsageProblem(
        `${this.#file} exports no pipeline, so there is nothing to run. Export one: export const order = pipeline({ name: 'order', run }).`,
      );
    }
    const isFixed = this.#failure !== undefined;
    this.#failure = undefined;
    if (isFixed) this.#log.info('module loaded again', { file: this.#file });
    if (source === this.#source) return;
    await this.#worker?.stop();
    const { releases } = this.#holdfast;
    const { release, repinned, broken } = await releases.adopt(pipelines, { source, actor: ACTOR });
    const options = { owner: ACTOR, release, stopGraceMs: STOP_GRACE_MS };
    this.#worker = await this.#holdfast.worker({ pipelines, ...options });
    this.#source = source;
    const names = pipelines.map(({ name }) => name).join(', ');
    this.#log.info('dev', {
      release: release.name,
      pipelines: names,
      repinned,
      left: broken.length,
    });
    for (const { execution, why } of broken) this.#log.info('dev', { left: execution, why });
  }
}

/** The first of these files that the stack names, with the line. */
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

// Loads a module and all its imports again. Each load gives every file another URL, so nothing of
// an earlier load is reused. Packages and Holdfast itself load once.

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
  /** The files of the last load, with their text before it read them. */
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

  /** The files of the last load, even if it failed. */
  get files(): Iterable<string> {
    return this.#texts.keys();
  }

  /**
   * True if a file changed since the last load. A file is empty or missing for a moment while an
   * editor writes it; that is no change.
   */
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

  /**
   * True if a file of this load imports it. A required file has no URL with a query, only its path.
   */
  #isImportedBy(parent: string | undefined): boolean {
    if (parent === undefined || !parent.startsWith('file:')) return false;
    const load = new URL(parent).searchParams.get(LOAD);
    return load === null ? this.#texts.has(fileURLToPath(parent)) : load === `${this.#loads}`;
  }
}

function isReloaded(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(OWN_ROOT);
}

/** Empty if the file does not exist. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
