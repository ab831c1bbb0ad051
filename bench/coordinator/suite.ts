// The coordinator suite: a coordinator with authentication and a worker over HTTP, in their own
// processes. A bare HTTP server takes turns with them.

import pg from 'pg';
import { openStoreFactory } from '../executions/store-factory.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import { alternate, medianRatio, medianRound, type Round, roundOf } from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { Caller } from './caller.ts';
import { start } from './processes.ts';

const STORES = ['sqlite', 'postgres'] as const;
const IN_FLIGHT = [1, 64] as const;

export const coordinatorSuite: Suite = {
  name: 'coordinator',
  summary: 'Submits, results and pickup through a coordinator, beside a bare HTTP server',
  legend: [
    'submit: from the request to its response, which follows a durable commit.',
    'end to end: submit, three durable steps by a worker over HTTP, result by long poll.',
    'pickup: from the response of a submit to the first line of its code, one execution at a time.',
    'of bare: our rate divided by that of a server that parses the body and sends a fixed response.',
    'idle: transactions per second of a coordinator and a worker without work.',
  ],
  run: runCoordinatorSuite,
};

async function* runCoordinatorSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  for (const kind of STORES.filter((each) => plan.stores.includes(each))) {
    plan.progress(`${kind}: opening`);
    const factory = await openStoreFactory(kind, folder);
    try {
      const results = await factory.with((location) => measure(plan, location, factory.settings));
      yield* results;
    } finally {
      await factory.close();
    }
  }
}

async function measure(
  plan: Plan,
  location: StoreLocation,
  settings: Settings,
): Promise<readonly Result[]> {
  const bare = await start('bare.ts');
  const node = await start('node.ts', location);
  const { url, key } = JSON.parse(node.firstLine) as { url: string; key: string };
  const worker = await start('worker.ts', { url, key });
  const ours = new Caller(url, key);
  const floor = new Caller(bare.firstLine);
  const report = reporter(location.kind, settings);
  try {
    const results: Result[] = [];
    for (const inFlight of IN_FLIGHT) {
      plan.progress(`${location.kind}: ${inFlight} in flight`);
      results.push(...(await throughput(plan, { ours, floor, report }, inFlight)));
    }
    plan.progress(`${location.kind}: pickup`);
    results.push(...report('pickup', { round: await pickup(ours, plan.quick ? 100 : 1_000) }));
    if (location.kind === 'postgres') {
      plan.progress(`${location.kind}: idle`);
      results.push(
        report.value('idle', 'idle', await idle(location.url, plan.quick ? 5_000 : 20_000)),
      );
    }
    return results;
  } finally {
    ours.close();
    floor.close();
    await worker.stop();
    await node.stop();
    await bare.stop();
  }
}

interface Subjects {
  readonly ours: Caller;
  readonly floor: Caller;
  readonly report: Reporter;
}

async function throughput(
  plan: Plan,
  { ours, floor, report }: Subjects,
  inFlight: number,
): Promise<readonly Result[]> {
  const submits: Promise<unknown>[] = [];
  const pace = plan.quick
    ? { rounds: 3, roundMs: 300, warmUpMs: 300 }
    : { rounds: 7, roundMs: 1_000, warmUpMs: 1_000 };
  const [bare = [], submit = [], whole = []] = await alternate(
    [
      { inFlight, operation: () => floor.submit() },
      {
        inFlight,
        operation: async () => {
          const id = await ours.submit();
          submits.push(Promise.resolve(id));
        },
      },
      { inFlight, operation: async () => ours.result(await ours.submit()) },
    ],
    pace,
  );
  // Executions that were only submitted must end before the next measurement.
  for (const id of await Promise.all(submits)) await ours.result(String(id));
  return [
    ...report(`bare HTTP · ${inFlight} in flight`, { round: medianRound(bare) }),
    ...report(`submit · ${inFlight} in flight`, {
      round: medianRound(submit),
      ofBare: medianRatio(submit, bare),
    }),
    ...report(`end to end · ${inFlight} in flight`, {
      round: medianRound(whole),
      ofBare: medianRatio(whole, bare),
    }),
  ];
}

async function pickup(ours: Caller, count: number): Promise<Round> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  for (let nth = 0; nth < count; nth += 1) {
    const id = await ours.submit();
    const submittedAt = performance.timeOrigin + performance.now();
    latencies.push(Math.max(0, Number(await ours.result(id)) - submittedAt));
  }
  return roundOf(latencies, performance.now() - startedAt);
}

const SETTLE_MS = 12_000;

async function idle(url: string, quietMs: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const commits = async (): Promise<number> => {
    const { rows } = await pool.query<{ n: string }>(
      'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0]?.n);
  };
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  try {
    // An idle backend reports its last statistics after ten seconds.
    await pause(SETTLE_MS);
    const before = await commits();
    await pause(quietMs);
    // One of the transactions is the query above.
    return (((await commits()) - before - 1) / quietMs) * 1_000;
  } finally {
    await pool.end();
  }
}

interface Measured {
  readonly round: Round;
  readonly ofBare?: number;
}

interface Reporter {
  (name: string, measured: Measured): readonly Result[];
  value(name: string, metric: string, value: number): Result;
}

function reporter(store: string, settings: Settings): Reporter {
  const base = { suite: 'coordinator', store, settings };
  const value = (name: string, metric: string, each: number): Result => ({
    ...base,
    case: name,
    metric,
    value: each,
    unit: '/s',
  });
  const report = (name: string, { round, ofBare }: Measured): readonly Result[] => [
    { ...value(name, 'rate', round.perSecond), p50Ms: round.p50Ms, p99Ms: round.p99Ms },
    ...(ofBare === undefined ? [] : [{ ...value(name, 'of bare', ofBare), unit: '×' }]),
  ];
  return Object.assign(report, { value });
}
