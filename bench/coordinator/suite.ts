// The suite of the coordinator: real processes, keys on, a worker over HTTP, beside a bare HTTP server in
// alternating rounds.

import pg from 'pg';
import { openGround } from '../executions/ground.ts';
import type { Place } from '../executions/place.ts';
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
  summary: 'submits, results and pickup through a coordinator, beside a bare HTTP server',
  legend: [
    'submit: from the request to its acknowledgement, which is a durable commit.',
    'end to end: submit, three durable steps by a worker over HTTP, result by long poll.',
    'pickup: from the acknowledgement of a submit to the first line of its code, one at a time.',
    'of bare: rates, ours to those of a server that reads the body and says yes.',
    'idle: transactions per second of coordinator and worker together when there is nothing to do.',
  ],
  run: runCoordinatorSuite,
};

async function* runCoordinatorSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const folder = scratchFolder();
  for (const kind of STORES.filter((each) => plan.stores.includes(each))) {
    plan.progress(`${kind}: opening`);
    const ground = await openGround(kind, folder);
    try {
      const results = await ground.with((place) => measure(plan, place, ground.settings));
      yield* results;
    } finally {
      await ground.close();
    }
  }
}

async function measure(plan: Plan, place: Place, settings: Settings): Promise<readonly Result[]> {
  const bare = await start('bare.ts');
  const node = await start('node.ts', place);
  const { url, key } = JSON.parse(node.firstLine) as { url: string; key: string };
  const worker = await start('worker.ts', { url, key });
  const ours = new Caller(url, key);
  const floor = new Caller(bare.firstLine);
  const report = reporter(place.kind, settings);
  try {
    const results: Result[] = [];
    for (const inFlight of IN_FLIGHT) {
      plan.progress(`${place.kind}: ${inFlight} in flight`);
      results.push(...(await throughput(plan, { ours, floor, report }, inFlight)));
    }
    plan.progress(`${place.kind}: pickup`);
    results.push(...report('pickup', { round: await pickup(ours, plan.quick ? 100 : 1_000) }));
    if (place.kind === 'postgres') {
      plan.progress(`${place.kind}: idle`);
      results.push(
        report.value('idle', 'idle', await idle(place.url, plan.quick ? 5_000 : 20_000)),
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

interface Stand {
  readonly ours: Caller;
  readonly floor: Caller;
  readonly report: Reporter;
}

async function throughput(plan: Plan, stand: Stand, inFlight: number): Promise<readonly Result[]> {
  const { ours, floor, report } = stand;
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
  // What was only submitted is worked off before anything else is measured.
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
    const answeredAt = performance.timeOrigin + performance.now();
    latencies.push(Math.max(0, Number(await ours.result(id)) - answeredAt));
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
    // A backend that has gone idle hands in its last statistics ten seconds later.
    await pause(SETTLE_MS);
    const before = await commits();
    await pause(quietMs);
    // Our own look is one of them.
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
