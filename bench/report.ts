// The output of a bench: a table for people, or one JSON object per line for programs.

import { availableParallelism, cpus, loadavg } from 'node:os';

export type Settings = Readonly<Record<string, string | number | boolean>>;

export interface Result {
  readonly suite: string;
  readonly case: string;
  readonly store: string;
  /** The meaning of `value`, such as `rate` or `of raw`. Each is a column of the table. */
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
  /** The latency of one operation. Absent if it has no meaning, for example for a ratio. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** The table that prints it. By default a store has one table. */
  readonly table?: string;
  /** Everything that is needed to repeat the measurement. */
  readonly settings: Settings;
}

/** Where and how a figure was measured. */
export interface Conditions {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  /** Processes that wanted a core, on average of the last minute. The bench itself is some of them. */
  readonly load: number;
  readonly quick: boolean;
  /** The day, such as 2026-03-27. */
  readonly on: string;
}

export function conditionsOf({ quick }: { readonly quick: boolean }): Conditions {
  const [load = Number.NaN] = loadavg();
  const cpu = cpus()[0]?.model ?? process.arch;
  const { node } = process.versions;
  const on = new Date().toISOString().slice(0, 10);
  return { cores: availableParallelism(), cpu, node, load: rounded(load), quick, on };
}

/** Every line has every field. Fields without a meaning are null. */
export function jsonLine(result: Result, conditions: Conditions): string {
  const { suite, store, metric, value, unit, p50Ms, p99Ms, settings } = result;
  return JSON.stringify({
    suite,
    case: result.case,
    store,
    metric,
    value: rounded(value),
    unit,
    p50Ms: p50Ms === undefined ? null : rounded(p50Ms),
    p99Ms: p99Ms === undefined ? null : rounded(p99Ms),
    settings,
    conditions,
  });
}

/** One row per case, one column per metric. */
export function table(results: readonly Result[]): string {
  const metrics = [...new Map(results.map((result) => [result.metric, result.unit]))];
  const cases = [...Map.groupBy(results, (result) => result.case)];
  const times = (['p50Ms', 'p99Ms'] as const).filter((time) =>
    results.some((result) => result[time] !== undefined),
  );
  const head = [
    '',
    ...metrics.map(([metric, unit]) => `${metric} ${unit}`.trimEnd()),
    ...times.map((time) => time.replace('Ms', ' ms')),
  ];
  const rows = cases.map(([name, ofCase]) => [
    name,
    ...metrics.map(([metric]) => shown(ofCase.find((result) => result.metric === metric)?.value)),
    ...times.map((time) => shown(ofCase.find((result) => result[time] !== undefined)?.[time])),
  ]);
  return aligned([head, ...rows]);
}

/** The settings that are the same for all of these results. */
export function sharedSettings(results: readonly Result[]): string {
  const [first, ...others] = results;
  return Object.entries(first?.settings ?? {})
    .filter(([name, value]) => others.every((other) => other.settings[name] === value))
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

/** Aligns the first column left, and numbers right. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('   ')
      .trimEnd(),
  );
  const rule = '─'.repeat(Math.max(...lines.map((line) => line.length)));
  return [lines[0] ?? '', rule, ...lines.slice(1)].join('\n');
}

function shown(value: number | undefined): string {
  if (value === undefined) return '';
  if (value >= 100) return Math.round(value).toLocaleString('en-GB');
  return value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3);
}

/** Four significant digits. The rest is noise. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
