// Shared code of the cases: they measure in a child process, on a new store, and report the results.

import { median, medianRound, type Round, roundOf } from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import type { Plan, StoreKind } from '../suite.ts';
import { runChild } from './child.ts';
import { compiledSubject } from './compiled-subject.ts';
import type { Reference } from './reference.ts';
import type { StoreFactory } from './store-factory.ts';
import type { StoreLocation } from './store-location.ts';
import type { Measurements } from './subject.ts';

export interface Bench {
  readonly plan: Plan;
  readonly factory: StoreFactory;
  /** Absent for the memory store. */
  readonly reference: Reference | undefined;
}

export interface BenchCase {
  readonly name: string;
  readonly stores: readonly StoreKind[];
  measure(bench: Bench): AsyncGenerator<Result, void, void>;
}

export const DURABLE: readonly StoreKind[] = ['sqlite', 'postgres'];

export const ON_ALL: readonly StoreKind[] = ['memory', ...DURABLE];

type Name = keyof Measurements;
type OrderOf<Each extends Name> = Parameters<Measurements[Each]>[1];
/** The result of the measurement. The child process sends it as JSON. */
type Found<Each extends Name> = Measurements[Each] extends (
  ...args: never[]
) => Promise<infer Answer>
  ? Answer
  : never;

/** Copying a million rows takes long on a busy machine. Everything else is much faster. */
const LIMIT_MS = 1_200_000;
const QUICK_LIMIT_MS = 120_000;

/** Runs one measurement in a child process, on a new store. */
export async function measureIn<Each extends Name>(
  { factory, plan }: Bench,
  measure: Each,
  order: OrderOf<Each>,
): Promise<Found<Each>> {
  return factory.with(async (location: StoreLocation) => {
    const limitMs = plan.quick ? QUICK_LIMIT_MS : LIMIT_MS;
    const request = JSON.stringify({ measure, location, order, limitMs });
    return (await runChild(compiledSubject(), [request], { limitMs })) as Found<Each>;
  });
}

export interface Reporter {
  rate(rounds: readonly Round[]): Result;
  /** Each operation was measured on its own. */
  latency(latenciesMs: readonly number[]): Result;
  value(metric: string, value: number, unit: string): Result;
  /** The median, the lowest and the highest value of the rounds. */
  spread(metric: string, values: readonly number[]): readonly Result[];
}

export function reporterOf(bench: Bench, name: string, own: Settings): Reporter {
  const { factory, reference } = bench;
  const beside = reference === undefined ? {} : { beside: reference.about };
  const settings = { ...factory.settings, ...beside, ...own };
  const [table = name] = name.split(' · ');
  const about = { suite: 'executions', case: name, store: factory.kind, table, settings };
  const value: Reporter['value'] = (metric, number, unit) => ({
    ...about,
    metric,
    value: number,
    unit,
  });
  return {
    value,
    rate: (rounds) => {
      const { perSecond, p50Ms, p99Ms } = medianRound(rounds);
      return { ...value('rate', perSecond, '/s'), p50Ms, p99Ms };
    },
    latency: (latenciesMs) => {
      const { p50Ms, p99Ms } = roundOf(latenciesMs, Number.NaN);
      return { ...value('median', median(latenciesMs), 'ms'), p50Ms, p99Ms };
    },
    spread: (metric, values) => [
      value(metric, median(values), '×'),
      value('lowest', Math.min(...values), '×'),
      value('highest', Math.max(...values), '×'),
    ],
  };
}

/** `ours` and `theirs` take turns. Every second round runs in reverse order. */
export async function inTurns<Ours>(
  rounds: number,
  ours: () => Promise<Ours>,
  theirs: (() => Promise<Round>) | undefined,
): Promise<{ readonly ours: readonly Ours[]; readonly theirs: readonly Round[] }> {
  const found: { ours: Ours[]; theirs: Round[] } = { ours: [], theirs: [] };
  const turns = [
    async () => found.ours.push(await ours()),
    async () => (theirs === undefined ? 0 : found.theirs.push(await theirs())),
  ];
  for (let round = 0; round < rounds; round += 1) {
    for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  return found;
}
