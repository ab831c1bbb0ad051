// A module and all that it imports, loaded anew: for each load every file of it has another name, so that nothing of
// the load before is found again. Packages, and Holdfast itself, are loaded once.

import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { dirname, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const LOAD = 'holdfast-load';
const OWN_ROOT = new URL('..', import.meta.url).href;
const cached = createRequire(import.meta.url).cache;

export interface LoadedModule {
  readonly exported: object;
  /** The text of all its files. */
  readonly source: string;
}

export class FreshModule {
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
