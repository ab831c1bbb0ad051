// A file that processes append lines to. It stands for an external system: each line is an effect.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export class Journal<Entry extends object> {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  append(entry: Entry): void {
    appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  entries(): readonly Entry[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Entry);
  }
}
