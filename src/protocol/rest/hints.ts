// Hints for whoever shows lists: something may have changed. They are counted, so that who comes back
// knows whether anything did meanwhile; what the count stands for is this process, and no longer.

import type { Bell } from '../../execution/bell.ts';

export class Hints {
  readonly #life: string;
  readonly #unlisten: () => void;
  readonly #waiting: Set<() => void> = new Set();
  #count = 0;

  constructor(executions: Bell, life: string) {
    this.#life = life;
    this.#unlisten = executions.onRing(() => this.#rang());
  }

  get id(): string {
    return `${this.#life}.${this.#count}`;
  }

  /** Whether this is an id of ours, and not the newest. Undefined: it is of another life. */
  isBehind(id: string): boolean | undefined {
    return id.startsWith(`${this.#life}.`) ? id !== this.id : undefined;
  }

  onChange(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => this.#waiting.delete(listener);
  }

  close(): void {
    this.#unlisten();
  }

  #rang(): void {
    this.#count += 1;
    for (const each of [...this.#waiting]) each();
  }
}
