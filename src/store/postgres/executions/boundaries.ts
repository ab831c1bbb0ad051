import type { Committing } from '../database.ts';

/** Counts the commits of execution verbs, so that a test can end the process at any of them. */
export class Boundaries implements Committing {
  readonly #listener: ((phase: 'before' | 'after', n: number) => void) | undefined;
  #count = 0;

  constructor(listener: ((phase: 'before' | 'after', n: number) => void) | undefined) {
    this.#listener = listener;
  }

  /** How many commits were begun. */
  get count(): number {
    return this.#count;
  }

  async around<Result>(commit: () => Promise<Result>): Promise<Result> {
    this.#count += 1;
    const n = this.#count;
    this.#listener?.('before', n);
    const result = await commit();
    this.#listener?.('after', n);
    return result;
  }
}
