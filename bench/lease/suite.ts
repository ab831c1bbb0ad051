// The lease suite. It measures acquire, renew and checkpoint beside raw commits of the same store. It also
// measures the cost of the public API above the port, and of many leases in one session.

import { type Floor, openDiskFloor } from '../floor.ts';
import {
  alternate,
  type Contestant,
  medianRatio,
  medianRound,
  medianSlowdown,
  type Pace,
  type Round,
} from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { type Plan, paceOf, type StoreKind, type Suite } from '../suite.ts';
import { ACQUIRE_CASES } from './acquire.ts';
import { CHECKPOINT_CASES } from './checkpoint.ts';
import { HELD, measureHandles, measureStored, OPERATIONS } from './held-leases.ts';
import type { LeaseCase } from './lease-case.ts';
import { type MeasuredStore, openMeasuredStore } from './measured-store.ts';
import { RENEW_CASES } from './renew.ts';

const CASES: readonly LeaseCase[] = [...ACQUIRE_CASES, ...RENEW_CASES, ...CHECKPOINT_CASES];

const HOLDING = [
  'hold a lease',
  ...Object.keys(OPERATIONS).map((operation) => `${operation}, ${HELD} leases held`),
];

const IN_FLIGHT: readonly number[] = [1, 64];

export const leaseSuite: Suite = {
  name: 'lease',
  summary: 'Acquire, renew and checkpoint, beside the raw commit of each store',
  legend: [
    'of disk: rate of raw commits divided by flushes of one 8 kB block (write + fdatasync).',
    'of raw: rate of commits divided by raw commits of one row with the same payload, driver and concurrency.',
    'of port: rate of the public API divided by that of the store’s port.',
    'p50 of one: latency with many leases divided by latency with one. 1 means that it does not grow.',
    'heap: bytes per lease in this process with 10,000 held, measured after full collections.',
    'All ratios are medians of ratios within one round; rates and latencies are medians of rounds.',
  ],
  run: runLeaseSuite,
};

interface Bench {
  readonly plan: Plan;
  readonly pace: Pace;
  readonly kind: StoreKind;
  readonly subject: MeasuredStore;
  readonly disk: Floor;
}

async function* runLeaseSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  const disk = openDiskFloor(folder);
  const pace = paceOf(plan);
  for (const kind of plan.stores) {
    plan.progress(`${kind}: opening`);
    const subject = await openMeasuredStore(kind, folder);
    try {
      yield* measureStore({ plan, pace, kind, subject, disk });
    } finally {
      await subject.close();
    }
  }
  await disk.close();
}

async function* measureStore(bench: Bench): AsyncGenerator<Result, void, void> {
  const { plan, subject } = bench;
  const isWanted = (name: string): boolean => name.includes(plan.only);
  // Must be first: it needs a small heap and an empty store.
  if (HOLDING.some(isWanted)) yield* measureHolding(bench);
  for (const inFlight of IN_FLIGHT) {
    if (subject.floor !== undefined && isWanted('raw commit')) {
      yield* measureFloor(bench, subject.floor, inFlight);
    }
    for (const leaseCase of CASES.filter(({ name }) => isWanted(name))) {
      yield* measureCase(bench, leaseCase, inFlight);
    }
  }
}

async function* measureFloor(
  bench: Bench,
  floor: Floor,
  inFlight: number,
): AsyncGenerator<Result, void, void> {
  bench.plan.progress(`${bench.kind}: raw commit, ${inFlight} in flight`);
  const flush = { inFlight: 1, operation: () => bench.disk.commit(0, 0) };
  const commit = { inFlight, operation: (worker: number) => floor.commit(worker, 0) };
  const [flushes = [], commits = []] = await alternate([flush, commit], bench.pace);
  const disk = resultOf(bench, 'disk flush beside it', { ...bench.disk.settings, inFlight: 1 });
  if (inFlight === 1) yield disk.rate(flushes);
  const raw = resultOf(bench, `raw commit · ${inFlight} in flight`, { inFlight });
  yield raw.rate(commits);
  yield raw.ratio('of disk', medianRatio(commits, flushes));
}

/** The floor, the port and the public API take turns. */
async function* measureCase(
  bench: Bench,
  leaseCase: LeaseCase,
  inFlight: number,
): AsyncGenerator<Result, void, void> {
  const { subject, pace } = bench;
  const { name, bytes, commits } = leaseCase;
  bench.plan.progress(`${bench.kind}: ${name}, ${inFlight} in flight`);
  const port = await leaseCase.port(subject.store, inFlight);
  const handle = await leaseCase.handle(subject.store, inFlight);
  const { floor } = subject;
  const contestants: readonly Contestant[] = [
    { inFlight, operation: port.operation },
    { inFlight, operation: handle.operation },
    ...(floor === undefined
      ? []
      : [{ inFlight, operation: (worker: number) => floor.commit(worker, bytes) }]),
  ];
  const [portRounds = [], handleRounds = [], raw] = await alternate(contestants, pace);
  await port.close();
  await handle.close();
  for (const [via, rounds] of [
    ['port', portRounds],
    ['handle', handleRounds],
  ] as const) {
    const settings = { inFlight, via, commits, payloadBytes: bytes };
    const result = resultOf(bench, `${name} · ${inFlight} in flight · ${via}`, settings);
    yield result.rate(rounds);
    if (raw !== undefined) yield result.ratio('of raw', medianRatio(rounds, raw) * commits);
    if (via === 'handle') yield result.ratio('of port', medianRatio(rounds, portRounds));
  }
}

async function* measureHolding(bench: Bench): AsyncGenerator<Result, void, void> {
  const { plan, pace, subject } = bench;
  plan.progress(`${bench.kind}: holding ${HELD} leases`);
  const how = 'difference of heapUsed, each after gc() until nothing more is freed';
  if (subject.floor === undefined) {
    const stored = resultOf(bench, 'hold a lease · store', { leases: HELD, how });
    yield stored.bytes(await measureStored(subject.store));
  }
  const cost = await measureHandles(subject.store, pace);
  const handle = resultOf(bench, 'hold a lease · handle', { leases: HELD, how });
  yield handle.bytes(cost.bytesPerHandle);
  const settings = { inFlight: 1, via: 'handle' };
  for (const { operation, withOne, withMany } of cost.growth) {
    yield resultOf(bench, `${operation}, 1 lease held`, { ...settings, leases: 1 }).rate(withOne);
    const many = resultOf(bench, `${operation}, ${HELD} leases held`, {
      ...settings,
      leases: HELD,
    });
    yield many.rate(withMany);
    yield many.ratio('p50 of one', medianSlowdown(withMany, withOne));
  }
}

function resultOf(bench: Bench, name: string, own: Settings) {
  const { rounds, roundMs } = bench.pace;
  const settings = { ...bench.subject.settings, rounds, roundMs, ...own };
  const about = { suite: leaseSuite.name, case: name, store: bench.kind, settings };
  return {
    rate: (measured: readonly Round[]): Result => {
      const { perSecond, p50Ms, p99Ms } = medianRound(measured);
      return { ...about, metric: 'rate', value: perSecond, unit: '/s', p50Ms, p99Ms };
    },
    ratio: (metric: string, value: number): Result => ({ ...about, metric, value, unit: '×' }),
    bytes: (value: number): Result => ({ ...about, metric: 'heap', value, unit: 'bytes' }),
  };
}
