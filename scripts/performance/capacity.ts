// The capacity model: what processes can do, from the CPU that an execution costs each of them. A
// backlog that one coordinator drains is not part of the model, so it can check it.

import { shown } from '../../bench/peers/compare.ts';
import type { FigureRecord, Records } from './records.ts';
import { middle } from './targets.ts';

const PROCESSES = ['client', 'coordinator', 'worker', 'PostgreSQL'] as const;
type Process = (typeof PROCESSES)[number];

export interface Capacity {
  /** Milliseconds of CPU for one execution with three steps, at 64 in flight. */
  readonly cpuMs: Readonly<Record<Process, number>>;
  /** Undefined if it was not counted. */
  readonly walBytes: number | undefined;
  /** Executions per second that one core of the process carries. */
  readonly perCore: Readonly<Record<Process, number>>;
  /**
   * The prediction of the model for this machine if all processes share it, and the measurement.
   */
  readonly foretold: number;
  readonly measured: number;
  readonly cores: number;
}

/** Undefined if one of its figures was not measured. */
export function capacityOf({ peers, figures }: Records): Capacity | undefined {
  const cpu = PROCESSES.map((name) =>
    measuredIn(figures, { suite: 'coordinator', case: `CPU · ${name}`, metric: 'CPU' }),
  );
  const drained = peers.find(
    ({ row, subject }) => row === 'three steps, drained' && subject === 'Holdfast, coordinator',
  );
  const perStep = measuredIn(figures, {
    suite: 'regress',
    case: 'coordinator · per step · WAL bytes',
    metric: 'count',
  });
  const perExecution = measuredIn(figures, {
    suite: 'regress',
    case: 'coordinator · per execution without steps · WAL bytes',
    metric: 'count',
  });
  const isComplete = cpu.every((each) => each !== undefined);
  if (!isComplete || !drained) return undefined;
  const cpuMs = byProcess((_, nth) => cpu[nth] ?? 0);
  const cores = figures.find(({ suite }) => suite === 'coordinator')?.conditions.cores ?? 1;
  const total = PROCESSES.reduce((sum, name) => sum + cpuMs[name], 0);
  return {
    cpuMs,
    walBytes: perStep && perExecution && perExecution + 3 * perStep,
    perCore: byProcess((name) => 1_000 / cpuMs[name]),
    foretold: (1_000 * cores) / total,
    measured: middle(drained.values),
    cores,
  };
}

export function capacitySection(records: Records): string {
  const capacity = capacityOf(records);
  if (capacity === undefined) return 'Not measured yet.';
  const { cpuMs, perCore, walBytes, foretold, measured, cores } = capacity;
  const rows = PROCESSES.map(
    (name) => `| ${name} | ${cpuMs[name].toFixed(2)} | ${round(perCore[name])} |`,
  );
  return [
    '| Process | Milliseconds of CPU for an execution with 3 steps | Executions per second and core |',
    '|---|---:|---:|',
    ...rows,
    '',
    ...(walBytes === undefined
      ? []
      : [`Each writes ${(walBytes / 1_000).toFixed(1)} kB of WAL, besides images of whole pages.`]),
    `With everything on ${cores} cores, the model gives ${round(foretold)} executions per second. One coordinator`,
    `drained a backlog with ${round(measured)}, which is ${shown(measured / foretold)} of it.`,
  ].join('\n');
}

function measuredIn(
  figures: readonly FigureRecord[],
  wanted: Pick<FigureRecord, 'suite' | 'case' | 'metric'>,
): number | undefined {
  return figures.find(
    (each) =>
      each.store === 'postgres' &&
      each.suite === wanted.suite &&
      each.case === wanted.case &&
      each.metric === wanted.metric,
  )?.value;
}

function byProcess(value: (name: Process, nth: number) => number): Record<Process, number> {
  const entries = PROCESSES.map((name, nth) => [name, value(name, nth)]);
  return Object.fromEntries(entries) as Record<Process, number>;
}

function round(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en-GB');
}
