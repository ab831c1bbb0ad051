// The coordinator suite: a coordinator with authentication and a worker over HTTP, in their own
// processes. A bare HTTP server takes turns with them.

import pg from 'pg';
import { HoldfastClient } from '../../src/client/client.ts';
import { openStoreFactory } from '../executions/store-factory.ts';
import type { StoreLocation } from '../executions/store-location.ts';
import {
  alternate,
  drive,
  medianRatio,
  medianRound,
  medianSlowdown,
  type Round,
  roundOf,
} from '../measure.ts';
import type { Result, Settings } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { Caller } from './caller.ts';
import { postgresCpu } from './postgres-cpu.ts';
import { type Running, start } from './processes.ts';
import { openStreamFloor, type StreamFloor } from './stream-floor-client.ts';

const STORES = ['sqlite', 'postgres'] as const;
const IN_FLIGHT = [1, 64] as const;

export const coordinatorSuite: Suite = {
  name: 'coordinator',
  summary: 'Submits, results and pickup through a coordinator, beside bare HTTP and a floor',
  legend: [
    'submit: from the request to its response, which follows a durable commit.',
    'end to end: HoldfastClient submits, openWorker does three durable steps, the client gets the result.',
    'pickup: from the response of a submit to the first line of its code, one execution at a time.',
    'over REST: the same, by a bare HTTP client that does not validate.',
    'floor: the same shape without keys, validation, retries, limits and replay (PostgreSQL).',
    'of floor: our rate divided by that of the floor. p50 of floor: our latency divided by its latency.',
    'CPU: milliseconds of one process for one execution at 64 in flight.',
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
  const client = new HoldfastClient({ url, key, stream: true });
  const floor = new Caller(bare.firstLine);
  const report = reporter(location.kind, settings);
  const least = location.kind === 'postgres' ? await openStreamFloor(location.url) : undefined;
  try {
    const results: Result[] = [];
    for (const inFlight of IN_FLIGHT) {
      plan.progress(`${location.kind}: ${inFlight} in flight`);
      const subjects = { ours, client, floor, least, report };
      results.push(...(await throughput(plan, subjects, inFlight)));
    }
    plan.progress(`${location.kind}: CPU`);
    const database = location.kind === 'postgres' ? await postgresCpu(location.url) : undefined;
    results.push(...(await cpu(plan, { client, node, worker, database, report })));
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
    await least?.close();
    await worker.stop();
    await node.stop();
    await bare.stop();
  }
}

interface Subjects {
  readonly ours: Caller;
  readonly client: HoldfastClient;
  readonly floor: Caller;
  readonly least: StreamFloor | undefined;
  readonly report: Reporter;
}

async function throughput(
  plan: Plan,
  { ours, client, floor, least, report }: Subjects,
  inFlight: number,
): Promise<readonly Result[]> {
  const submits: Promise<unknown>[] = [];
  const pace = plan.quick
    ? { rounds: 3, roundMs: 300, warmUpMs: 300 }
    : { rounds: 7, roundMs: 1_000, warmUpMs: 1_000 };
  const [bare = [], submit = [], rest = []] = await alternate(
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
  const whole: Round[] = [];
  const beside: Round[] = [];
  const wholeLoad = { inFlight, operation: () => runWhole(client) };
  await drive(wholeLoad, pace.warmUpMs);
  if (least !== undefined) await drive({ inFlight, operation: least.run }, pace.warmUpMs);
  for (let round = 0; round < pace.rounds; round += 1) {
    whole.push(await drive(wholeLoad, pace.roundMs));
    if (least !== undefined) {
      beside.push(await drive({ inFlight, operation: least.run }, pace.roundMs));
    }
  }
  const name = `${inFlight} in flight`;
  return [
    ...report(`bare HTTP · ${name}`, { round: medianRound(bare) }),
    ...report(`submit · ${name}`, {
      round: medianRound(submit),
      ofBare: medianRatio(submit, bare),
    }),
    ...report(`end to end over REST · ${name}`, { round: medianRound(rest) }),
    ...(least === undefined ? [] : report(`floor · ${name}`, { round: medianRound(beside) })),
    ...report(`end to end · ${name}`, {
      round: medianRound(whole),
      ...(least && {
        ofFloor: medianRatio(whole, beside),
        slowdown: medianSlowdown(whole, beside),
      }),
    }),
  ];
}

export async function runWhole(client: HoldfastClient): Promise<void> {
  const { status } = await client.executions.run({ pipeline: 'timed' });
  if (status !== 'completed') throw new Error(`An execution ended as ${status}.`);
}

interface Measurable {
  readonly client: HoldfastClient;
  readonly node: Running;
  readonly worker: Running;
  /** The milliseconds of PostgreSQL so far, if it is the store. */
  readonly database: (() => number) | undefined;
  readonly report: Reporter;
}

async function cpu(
  plan: Plan,
  { client, node, worker, database, report }: Measurable,
): Promise<readonly Result[]> {
  const msOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;
  const used = async (): Promise<readonly number[]> => [
    ...[
      process.cpuUsage(),
      ...((await Promise.all([node.request('cpu'), worker.request('cpu')])) as NodeJS.CpuUsage[]),
    ].map(msOf),
    ...(database === undefined ? [] : [database()]),
  ];
  let count = 0;
  const before = await used();
  const operation = async (): Promise<void> => {
    await runWhole(client);
    count += 1;
  };
  await drive({ inFlight: 64, operation }, plan.quick ? 1_000 : 5_000);
  const after = await used();
  return before.map((ms, nth) => {
    const name = ['client', 'coordinator', 'worker', 'PostgreSQL'][nth];
    const each = ((after[nth] ?? 0) - ms) / count;
    return { ...report.value(`CPU · ${name}`, 'CPU', each), unit: 'ms' };
  });
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
    // Its transactions count too, and the load before gives it work.
    await pool.query('alter system set autovacuum = off');
    await pool.query('select pg_reload_conf()');
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
  readonly ofFloor?: number;
  readonly slowdown?: number;
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
  const report = (name: string, { round, ...ratios }: Measured): readonly Result[] => [
    { ...value(name, 'rate', round.perSecond), p50Ms: round.p50Ms, p99Ms: round.p99Ms },
    ...Object.entries(ratios).map(([ratio, each]) => ({
      ...value(name, RATIOS[ratio as keyof typeof RATIOS], each),
      unit: '×',
    })),
  ];
  return Object.assign(report, { value });
}

const RATIOS = { ofBare: 'of bare', ofFloor: 'of floor', slowdown: 'p50 of floor' } as const;
