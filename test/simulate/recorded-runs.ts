// The runs of all commits so far, in `runs.jsonl`: one per line. Seeds accumulate over days, because
// no single run has a million.

import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface RecordedRun {
  readonly commit: string;
  readonly first: number;
  readonly seeds: number;
  readonly failed: number;
}

const FILE = join(import.meta.dirname, 'runs.jsonl');

export function recordRun(run: Omit<RecordedRun, 'commit'>): void {
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' });
  appendFileSync(FILE, `${JSON.stringify({ commit: commit.trim(), ...run })}\n`);
}

/** A line for docs/verification.md. */
export function recordedSeeds(): string {
  const runs = readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedRun);
  const seeds = runs.reduce((sum, run) => sum + run.seeds, 0);
  const failed = runs.reduce((sum, run) => sum + run.failed, 0);
  const commits = new Set(runs.map(({ commit }) => commit)).size;
  return `All recorded runs: ${seeds} seeds of ${commits} commits, ${failed} failed.`;
}
