// The growth suite: how rates and latencies change with one size. A flat curve means that the size
// does not matter. Points of a curve take turns, so that a drift of the machine hits all of them.

import { measureIn } from '../executions/bench-case.ts';
import { openStoreFactory, type StoreFactory } from '../executions/store-factory.ts';
import { median } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { renewWith } from './held.ts';
import { rateThrough } from './through.ts';

const STORES = ['sqlite', 'postgres'] as const;

/** One size, and what is measured at each of its values. */
interface Curve {
  readonly name: string;
  readonly unit: '/s' | 'ms';
  /** Values of the size. A quick run leaves out the ones after `quick`. */
  readonly sizes: readonly number[];
  readonly quick: number;
  readonly stores: readonly (typeof STORES)[number][];
  measure(point: Point): Promise<number>;
}

interface Point {
  readonly plan: Plan;
  readonly factory: StoreFactory;
  readonly size: number;
}

const STEPS = 3;
const WARM_UP = 3_000;

const CURVES: readonly Curve[] = [
  {
    name: 'executions in flight',
    unit: '/s',
    sizes: [1, 10, 100, 1_000, 10_000, 100_000],
    quick: 1_000,
    stores: STORES,
    measure: (point) =>
      drained(point, { executions: between(500, point.size * 20, 100_000), inFlight: point.size }),
  },
  {
    name: 'ended executions in the store',
    unit: '/s',
    sizes: [0, 10_000, 100_000, 1_000_000, 10_000_000],
    quick: 100_000,
    stores: STORES,
    measure: (point) => drained(point, { executions: 20_000, inFlight: 1_000, ended: point.size }),
  },
  {
    name: 'characters of each value',
    unit: '/s',
    sizes: [100, 1_000, 10_000, 100_000, 1_000_000],
    quick: 10_000,
    stores: STORES,
    measure: (point) => {
      const executions = between(40, 20_000_000 / point.size, 10_000);
      return drained(point, { executions, inFlight: 100, characters: point.size });
    },
  },
  {
    name: 'projects',
    unit: '/s',
    sizes: [1, 10, 100, 1_000],
    quick: 100,
    stores: STORES,
    measure: (point) =>
      drained(point, { executions: 20_000, inFlight: 1_000, projects: point.size }),
  },
  {
    name: 'leases of a session, renewed together',
    unit: 'ms',
    sizes: [1, 10, 100, 1_000, 10_000, 100_000],
    quick: 1_000,
    stores: STORES,
    measure: ({ factory, size }) => factory.with((location) => renewWith(location, size)),
  },
  {
    name: 'workers of a coordinator',
    unit: '/s',
    sizes: [1, 4, 16, 64],
    quick: 16,
    stores: STORES,
    measure: ({ factory, plan, size }) =>
      factory.with((location) => rateThrough(location, { plan, coordinators: 1, workers: size })),
  },
  {
    name: 'coordinators',
    unit: '/s',
    sizes: [1, 2, 3, 4],
    quick: 2,
    stores: ['postgres'],
    measure: ({ factory, plan, size }) =>
      factory.with((location) =>
        rateThrough(location, { plan, coordinators: size, workers: size }),
      ),
  },
];

export const growthSuite: Suite = {
  name: 'growth',
  summary: 'Curves: in flight, ended rows, value size, projects, leases, workers, coordinators',
  legend: [
    'rate: executions with three durable steps per second, from the start of a worker to the last end.',
    'p50: the median time of a heartbeat.',
    'of first: the figure divided by that of the first row. 1 means that the size does not matter.',
    'workers, coordinators: through the stream, 64 in flight for each coordinator.',
  ],
  run: runGrowthSuite,
};

async function* runGrowthSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  for (const store of STORES.filter((each) => plan.stores.includes(each))) {
    const curves = CURVES.filter(
      ({ name, stores }) => name.includes(plan.only) && stores.includes(store),
    );
    if (curves.length === 0) continue;
    const factory = await openStoreFactory(store, folder);
    try {
      for (const curve of curves) yield* measureCurve(curve, plan, factory);
    } finally {
      await factory.close();
    }
  }
}

async function* measureCurve(
  curve: Curve,
  plan: Plan,
  factory: StoreFactory,
): AsyncGenerator<Result, void, void> {
  const sizeMax = Math.min(plan.sizeMax, plan.quick ? curve.quick : Number.POSITIVE_INFINITY);
  const sizes = curve.sizes.filter((size) => size <= sizeMax);
  const rounds = plan.rounds ?? (plan.quick ? 1 : 3);
  const found = new Map(sizes.map((size): [number, number[]] => [size, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const size of round % 2 === 0 ? sizes : sizes.toReversed()) {
      plan.progress(`${factory.kind}: ${curve.name} ${size}`);
      found.get(size)?.push(await curve.measure({ plan, factory, size }));
    }
  }
  const first = median([...found.values()][0] ?? []);
  for (const [size, values] of found) {
    const about = {
      suite: 'growth',
      case: size.toLocaleString('en-GB'),
      store: factory.kind,
      table: curve.name,
      settings: { ...factory.settings, size: curve.name, rounds },
    };
    const metric = curve.unit === '/s' ? 'rate' : 'p50';
    yield { ...about, metric, value: median(values), unit: curve.unit };
    yield { ...about, metric: 'of first', value: median(values) / first, unit: '×' };
  }
}

interface Drained {
  readonly executions: number;
  readonly inFlight: number;
  readonly characters?: number;
  readonly projects?: number;
  readonly ended?: number;
}

async function drained({ plan, factory }: Point, order: Drained): Promise<number> {
  const executions = plan.quick ? Math.ceil(order.executions / 5) : order.executions;
  const warmUp = Math.min(WARM_UP, executions);
  const bench = { plan: { ...plan, quick: false }, factory, reference: undefined };
  const load = { ...order, executions, warmUp, steps: STEPS };
  return (await measureIn(bench, 'throughput', load)).perSecond;
}

function between(least: number, value: number, most: number): number {
  return Math.round(Math.min(most, Math.max(least, value)));
}
