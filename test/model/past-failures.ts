// Programs that found a bug once, in `past-failures.jsonl`: one per line, with what it was. They are
// run before anything else, on every store. Kept as programs and not as seeds, which mean something
// else as soon as the way programs are drawn changes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from './step.ts';

export interface PastFailure {
  readonly why: string;
  readonly program: Program;
  /** Races need many tries to be lost. */
  readonly times?: number;
}

const FILE = join(import.meta.dirname, 'past-failures.jsonl');

export function pastFailures(): readonly PastFailure[] {
  return readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as PastFailure);
}
