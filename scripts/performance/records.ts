// The stored results of benches: one JSON object per line, as `--json` prints them.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Conditions, Settings } from '../../bench/report.ts';

export const RESULTS: string = join(import.meta.dirname, '../../bench/results');

/** One subject in one row of `npm run bench:peers`. */
export interface PeerRecord {
  readonly suite: 'peers';
  readonly row: string;
  readonly unit: '/s' | 'ms';
  readonly subject: string;
  readonly settings: string;
  readonly count: number;
  readonly values: readonly number[];
  readonly p99s: readonly number[];
  readonly peakMb: readonly number[];
  readonly storeSettings: Settings;
  readonly conditions: Conditions;
}

/** One figure of `npm run bench`. */
export interface FigureRecord {
  readonly suite: string;
  readonly case: string;
  readonly store: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly settings: Settings;
  readonly conditions: Conditions;
}

export type BenchRecord = PeerRecord | FigureRecord;

export interface Records {
  readonly peers: readonly PeerRecord[];
  readonly figures: readonly FigureRecord[];
}

export function isPeer(record: BenchRecord): record is PeerRecord {
  return record.suite === 'peers';
}

/** All lines of bench/results. */
export function readRecords(folder: string = RESULTS): Records {
  const all = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => parseRecords(readFileSync(join(folder, name), 'utf8')));
  return {
    peers: all.filter(isPeer),
    figures: all.filter((record): record is FigureRecord => !isPeer(record)),
  };
}

export function parseRecords(text: string): readonly BenchRecord[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as BenchRecord);
}

/** Replaces records of the same measurement, and keeps the others. */
export function addRecords(added: readonly BenchRecord[], folder: string = RESULTS): void {
  for (const [suite, records] of Map.groupBy(added, (record) => record.suite)) {
    const file = join(folder, `${suite}.jsonl`);
    const kept = readdirSync(folder).includes(`${suite}.jsonl`)
      ? parseRecords(readFileSync(file, 'utf8'))
      : [];
    const byKey = new Map([...kept, ...records].map((record) => [keyOf(record), record]));
    const lines = [...byKey.values()].map((record) => `${JSON.stringify(record)}\n`);
    writeFileSync(file, lines.join(''));
  }
}

function keyOf(record: BenchRecord): string {
  return isPeer(record)
    ? `${record.row} | ${record.subject}`
    : [record.case, record.store, record.metric, record.settings['size']].join(' | ');
}
