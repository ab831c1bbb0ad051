// What the cases of the suite share: where they run, how they ask a process, how they say what it found.

import { join } from 'node:path';
import { median, medianRound, type Round, roundOf } from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import type { Plan, StoreKind } from '../suite.ts';
import { runChild } from './child.ts';
import type { Ground } from './ground.ts';
import type { Place } from './place.ts';
import type { Reference } from './reference.ts';
import type { Measurements } from './subject.ts';

export interface Bench {
  readonly plan: Plan;
  readonly ground: Ground;
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
/** What it found is sent as JSON, and is what the function of that name answers. */
type Found<Each extends Name> = Measurements[Each] extends (
  ...args: never[]
) => Promise<infer Answer>
  ? Answer
  : never;

const SUBJECT = join(import.meta.dirname, 'subject.ts');

/** Loading a million rows takes a while on a busy machine; anything else ends long before. */
const LIMIT_MS = 1_200_000;
const QUICK_LIMIT_MS = 120_000;

/** One measurement by a process of its own, in a fresh place. */
export async function measureIn<Each extends Name>(
  { ground, plan }: Bench,
  measure: Each,
  order: OrderOf<Each>,
): Promise<Found<Each>> {
  return ground.with(async (place: Place) => {
    const limitMs = plan.quick ? QUICK_LIMIT_MS : LIMIT_MS;
    const request = JSON.stringify({ measure, place, order, limitMs });
    return (await runChild(SUBJECT, [request], { limitMs })) as Found<Each>;
  });
}

export interface Reporter {
  rate(rounds: readonly Round[]): Result;
  /** One operation at a time, each measured by itself. */
  latency(latenciesMs: readonly number[]): Result;
  value(metric: string, value: number, unit: string): Result;
  /** The median, the lowest and the highest of what the rounds gave. */
  spread(metric: string, values: readonly number[]): readonly Result[];
}

export function reporterOf(bench: Bench, name: string, own: Settings): Reporter {
  const { ground, reference } = bench;
  const beside = reference === undefined ? {} : { beside: reference.about };
  const settings = { ...ground.settings, ...beside, ...own };
  const [table = name] = name.split(' · ');
  const about = { suite: 'executions', case: name, store: ground.kind, table, settings };
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

/** `ours` and `theirs` take turns, each second round the other way around. */
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
