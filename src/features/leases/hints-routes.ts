// Hints that a key may be free, for requests that wait for them. Each project that waits has a
// short list of its last hints, so that none is lost between two requests. Positions count within
// the project and this process, so they reveal nothing of others.

import type { ProjectName } from '../../execution/names.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeaseService } from '../../lease/port.ts';
import { ownKeyOf, projectOfKey } from './model.ts';

/** Later hints displace earlier ones; waiters poll too. */
const KEPT_MAX = 256;
const PROJECTS_MAX = 1_000;

interface Hinted {
  readonly keys: readonly LeaseKey[];
  readonly next: number;
}

class ProjectHints {
  #kept: LeaseKey[] = [];
  readonly #listeners: Set<() => void> = new Set();
  /** The number of hints so far. */
  count = 0;

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  add(key: LeaseKey): void {
    this.count += 1;
    this.#kept.push(key);
    if (this.#kept.length > KEPT_MAX) this.#kept = this.#kept.slice(-KEPT_MAX / 2);
    for (const listener of [...this.#listeners]) listener();
  }

  /** All that is kept if the position is of another process. */
  read(after: number): Hinted {
    const missed = after > this.count ? this.#kept.length : this.count - after;
    const keys = missed === 0 ? [] : this.#kept.slice(-missed);
    return { keys: [...new Set(keys)], next: this.count };
  }

  /** Resolves when there is a hint after this position. Rejects when `until` aborts. */
  after(position: number, until: AbortSignal): Promise<void> {
    if (position !== this.count) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const hinted = (): void => {
        this.#listeners.delete(hinted);
        resolve();
      };
      this.#listeners.add(hinted);
      until.addEventListener('abort', () => {
        this.#listeners.delete(hinted);
        reject(until.reason);
      });
    });
  }
}

export class LeaseHints {
  readonly #projects: Map<ProjectName, ProjectHints> = new Map();
  readonly #unlisten: () => void;

  constructor(store: Pick<LeaseService, 'onHint'>) {
    this.#unlisten = store.onHint((key) => this.#onHint(key));
  }

  of(project: ProjectName): ProjectHints {
    const known = this.#projects.get(project);
    if (known !== undefined) return known;
    if (this.#projects.size >= PROJECTS_MAX) this.#forgetIdle();
    const hints = new ProjectHints();
    this.#projects.set(project, hints);
    return hints;
  }

  close(): void {
    this.#unlisten();
  }

  #forgetIdle(): void {
    for (const [project, { isWatched }] of this.#projects) {
      if (!isWatched) this.#projects.delete(project);
    }
  }

  #onHint(stored: LeaseKey): void {
    const project = projectOfKey(stored);
    const hints = project && this.#projects.get(project);
    const key = project && ownKeyOf(project, stored);
    if (hints && key) hints.add(key);
  }
}
