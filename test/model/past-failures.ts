// Programs that once found a bug, in `past-failures.jsonl`: one per line, with its description.
// Every store runs them first. They are kept as programs and not as seeds, since a seed changes its
// meaning when the generator changes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from './step.ts';

export interface PastFailure {
  readonly why: string;
  readonly program: Program;
  /** A race needs many repetitions to fail. */
  readonly times?: number;
}

const FILE = join(import.meta.dirname, 'past-failures.jsonl');

export function pastFailures(): readonly PastFailure[] {
  return readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as PastFailure);
}
