// Checks that the stored results reach the targets. A target compares figures of one run only.

import { type Comparison, comparedWith, shown } from '../../bench/peers/compare.ts';
import type { FigureRecord, PeerRecord, Records } from './records.ts';

export interface Verdict {
  readonly work: string;
  readonly store: string;
  readonly target: string;
  /** Undefined if it was not measured. */
  readonly found: { readonly measured: string; readonly isMet: boolean } | undefined;
}

const OURS = 'Holdfast';
const ON_SQLITE = 'Holdfast on SQLite';
const COORDINATOR = 'Holdfast, coordinator';
const COORDINATOR_SQLITE = 'Holdfast, coordinator on SQLite';
const FLOOR = 'Floor of a coordinator';
/** They keep a history of steps. The other peers are queues. */
const ENGINES = ['Restate', 'DBOS', 'OpenWorkflow'];
const PEERS = [...ENGINES, 'graphile-worker', 'pg-boss', 'BullMQ'];

interface Ratio {
  readonly work: string;
  readonly row: string;
  readonly ours: string;
  /** The fastest of these that was measured. */
  readonly others: readonly string[];
  /** The wanted speed, as a multiple of its speed. */
  readonly least: number;
  readonly besides: string;
}

const best = (others: readonly string[], besides: string) => ({ others, besides });
const THREE = 'three steps, drained';
const IN_FLIGHT = 'three steps, 64 in flight';
const ONE = 'three steps, one at a time';

const RATIOS: readonly Ratio[] = [
  { work: THREE, row: THREE, ours: OURS, least: 40, ...best(ENGINES, 'the best engine') },
  { work: IN_FLIGHT, row: IN_FLIGHT, ours: OURS, least: 25, ...best(ENGINES, 'the best engine') },
  { work: IN_FLIGHT, row: IN_FLIGHT, ours: OURS, least: 5, ...best(['BullMQ'], 'BullMQ') },
  {
    ...{ work: IN_FLIGHT, row: IN_FLIGHT, ours: ON_SQLITE, least: 50 },
    ...best(ENGINES, 'the best engine'),
  },
  {
    ...{ work: 'one step, drained', row: 'one step, drained', ours: OURS, least: 1 },
    ...best(['graphile-worker'], 'graphile-worker'),
  },
  { work: ONE, row: ONE, ours: OURS, least: 1, ...best(PEERS, 'the fastest peer') },
  {
    ...{ work: 'pickup from idle', row: 'pickup from idle', ours: OURS, least: 1 },
    ...best(PEERS, 'the fastest peer'),
  },
  ...[
    { ours: OURS, least: 1 },
    { ours: ON_SQLITE, least: 2 },
  ].map((each) => ({
    ...{ work: 'submit in batches of 500', row: 'submit in batches of 500', ...each },
    ...best(PEERS, 'the fastest peer'),
  })),
  {
    ...{ work: 'through a coordinator, 64 in flight', row: IN_FLIGHT, ours: COORDINATOR },
    ...{ least: 0.5, ...best([FLOOR], 'the floor of a coordinator') },
  },
  {
    ...{ work: 'through a coordinator, 64 in flight', row: IN_FLIGHT, ours: COORDINATOR_SQLITE },
    ...{ least: 10, ...best(['Restate'], 'Restate') },
  },
  {
    ...{ work: 'through a coordinator, one at a time', row: ONE, ours: COORDINATOR },
    ...{ least: 0.5, ...best([FLOOR], 'the floor of a coordinator') },
  },
  {
    ...{ work: 'through a coordinator, one at a time', row: ONE, ours: COORDINATOR_SQLITE },
    ...{ least: 2, ...best(['Restate'], 'Restate') },
  },
];

interface Limit {
  readonly work: string;
  readonly store: string;
  readonly target: string;
  readonly most: number;
  /** A count includes a few heartbeats, so one decimal of it is enough. Default 2. */
  readonly decimals?: number;
  /** Undefined if it was not measured. */
  value(records: Records): number | undefined;
}

const latency =
  (row: string, subject: string) =>
  ({ peers }: Records): number | undefined => {
    const found = peers.find((each) => each.row === row && each.subject === subject);
    return found && middle(found.values);
  };

const counted =
  (wanted: Pick<FigureRecord, 'suite' | 'store' | 'case' | 'metric'>) =>
  ({ figures }: Records): number | undefined =>
    figures.find(
      (each) =>
        each.suite === wanted.suite &&
        each.store === wanted.store &&
        each.case === wanted.case &&
        each.metric === wanted.metric,
    )?.value;

const WITHOUT_STEPS = 'embedded · per execution without steps · transactions';

const LIMITS: readonly Limit[] = [
  ...[ONE, 'pickup from idle'].map((row) => ({
    ...{ work: row, store: 'SQLite', target: 'p50 ≤ 1 ms', most: 1 },
    value: latency(row, ON_SQLITE),
  })),
  {
    ...{ work: 'pickup from idle, other process', store: 'SQLite', target: 'p50 ≤ 5 ms', most: 5 },
    value: latency('pickup from idle', COORDINATOR_SQLITE),
  },
  ...(['postgres', 'sqlite'] as const).map((store) => ({
    ...{ work: 'transactions besides steps', store: title(store) },
    ...{ target: '≤ 1 per execution', most: 1, decimals: 1 },
    value: counted({ suite: 'regress', store, case: WITHOUT_STEPS, metric: 'count' }),
  })),
  ...(['postgres', 'sqlite'] as const).map((store) => ({
    ...{ work: 'memory, 1,000 in flight', store: title(store), target: '< 150 MB', most: 150 },
    value: counted({ suite: 'executions', store, case: 'memory · 1,000 in flight', metric: 'RSS' }),
  })),
];

export function verdicts(records: Records): readonly Verdict[] {
  return [
    ...floors(records),
    ...RATIOS.map((each) => verdictOf(each, records.peers)),
    ...LIMITS.map(({ value, most, decimals = 2, work, store, target }): Verdict => {
      const count = value(records)?.toFixed(decimals);
      const found = count && { measured: count, isMet: Number(count) <= most };
      return { work, store, target, found: found || undefined };
    }),
  ];
}

const OF_FLOOR = 0.8;

/** The engine beside a loop with the same commits, in the executions suite. */
function floors({ figures }: Records): readonly Verdict[] {
  return ['three steps', 'one step'].flatMap((work) =>
    ['postgres', 'sqlite'].map((store): Verdict => {
      const name = `${work} · 1,000 in flight · holdfast`;
      const of = (metric: string): number | undefined =>
        counted({ suite: 'executions', store, case: name, metric })({ peers: [], figures });
      const ratio = of('of floor');
      const load = figures.find((each) => each.store === store && each.case === name)?.conditions
        .load;
      const target = `≥ ${OF_FLOOR} × the floor`;
      const about = { work: `${work}, drained`, store: title(store), target };
      if (ratio === undefined) return { ...about, found: undefined };
      const interval = `(${shown(of('lowest') ?? ratio)} – ${shown(of('highest') ?? ratio)}), load ${load}`;
      return {
        ...about,
        found: { measured: `${shown(ratio)} ${interval}`, isMet: ratio >= OF_FLOOR },
      };
    }),
  );
}

function verdictOf(
  { work, row, ours, others, least, besides }: Ratio,
  peers: readonly PeerRecord[],
): Verdict {
  const ofRow = peers.filter((each) => each.row === row);
  const own = ofRow.find(({ subject }) => subject === ours);
  const compared = ofRow
    .filter(({ subject }) => others.includes(subject))
    .map((other) => ({ other, comparison: own && comparedWith(own, other) }))
    .filter((each): each is { other: PeerRecord; comparison: Comparison } => !!each.comparison)
    .sort((a, b) => a.comparison.median - b.comparison.median);
  const [fastest] = compared;
  const store = ours.includes('SQLite') ? 'SQLite' : 'PostgreSQL';
  const about = { work, store, target: `≥ ${least} × ${besides}` };
  if (fastest === undefined) return { ...about, found: undefined };
  const { median, lowest, highest } = fastest.comparison;
  const measured = `${shown(median)} (${shown(lowest)} – ${shown(highest)}) × ${fastest.other.subject}`;
  return { ...about, found: { measured, isMet: median >= least } };
}

function title(store: string): string {
  return store === 'sqlite' ? 'SQLite' : 'PostgreSQL';
}

export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
