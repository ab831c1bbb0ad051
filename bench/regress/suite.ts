// The regress suite counts the cost of a step and of an execution, and compares the counts with
// `budgets.json`. It measures no time, so a busy machine changes little.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import {
  LONG,
  mustFinish,
  payload,
  running,
  worker,
  writing,
} from '../../contract/execution/worker.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { openHoldfast } from '../../src/embedded/open-holdfast.ts';
import type { CallKey } from '../../src/execution/names.ts';
import { openServer } from '../../src/server/serve.ts';
import type { Instant } from '../../src/support/clock.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { measureIn } from '../executions/bench-case.ts';
import { openStoreFactory, type StoreFactory } from '../executions/store-factory.ts';
import { ORDER, stepsPipeline, TEXT } from '../executions/subject/open-subject.ts';
import type { Result } from '../report.ts';
import { countingFolder } from '../scratch-folder.ts';
import { BenchFailed, type Plan, type Suite } from '../suite.ts';
import { type CountingProxy, countingProxy, POSTGRES, WEB_SOCKET } from './counting-proxy.ts';

const FEW_STEPS = 1;
const MANY_STEPS = 5;

/** Long, so that only the executions cause traffic. */
const QUIET = { pollMs: 600_000, ttlMs: 600_000 };

type Counts = Readonly<Record<string, number>>;

/** Runs so many executions with so many steps, one after the other, and counts. */
type Measure = (load: Load) => Promise<Counts>;

interface Load {
  readonly executions: number;
  readonly steps: number;
}

type Budgets = Readonly<Record<string, Readonly<Record<string, number>>>>;

const BUDGETS_FILE = 'bench/regress/budgets.json';
const BUDGETS = JSON.parse(
  readFileSync(join(import.meta.dirname, 'budgets.json'), 'utf8'),
) as Budgets;

export const regressSuite: Suite = {
  name: 'regress',
  summary: 'Writes, statements and bytes of a step and of an execution, against their budgets',
  legend: [
    'per step: the difference between executions with five steps and with one, one at a time.',
    'heartbeats: the same, with writes of heartbeats in place of steps.',
    'statements, round trips, database bytes: on the connections to PostgreSQL, both directions.',
    'WAL bytes: without images of whole pages.',
    'worker, client: WebSocket frames and bytes between it and the coordinator, both directions.',
    `A count above its budget fails the run. The budgets are in ${BUDGETS_FILE}.`,
  ],
  run: runRegressSuite,
};

async function* runRegressSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  const exceeded: string[] = [];
  for (const kind of (['sqlite', 'postgres'] as const).filter((each) =>
    plan.stores.includes(each),
  )) {
    const factory = await openStoreFactory(kind, countingFolder());
    try {
      for (const [subject, measure] of Object.entries(measuresOf(plan, factory))) {
        if (!subject.includes(plan.only)) continue;
        plan.progress(`${kind}: ${subject}`);
        for (const result of await compared(plan, { kind, subject, measure })) {
          if (result.metric === 'of budget' && !(result.value <= 1)) exceeded.push(result.case);
          yield result;
        }
      }
    } finally {
      await factory.close();
    }
  }
  if (exceeded.length > 0) {
    throw new BenchFailed(
      `Above the budget, or without one: ${exceeded.join('; ')}. Find the change that added the cost. ` +
        `If it is worth it, raise the budget in ${BUDGETS_FILE} and say why in the commit.`,
    );
  }
}

function measuresOf(plan: Plan, factory: StoreFactory): Readonly<Record<string, Measure>> {
  if (factory.kind === 'sqlite') {
    const bench = { plan, factory, reference: undefined };
    const embedded: Measure = async (load) => ({
      ...(await measureIn(bench, 'written', { ...load, inFlight: 1 })),
    });
    return { embedded };
  }
  return {
    embedded: (load) => countedIn(factory, (url) => runEmbedded(url, load)),
    heartbeats: (load) => countedIn(factory, (url) => runHeartbeats(url, load)),
    coordinator: (load) => countedIn(factory, (url) => runThroughCoordinator(url, load)),
  };
}

interface Subject {
  readonly kind: string;
  readonly subject: string;
  readonly measure: Measure;
}

async function compared(
  plan: Plan,
  { kind, subject, measure }: Subject,
): Promise<readonly Result[]> {
  const executions = plan.quick ? 50 : 200;
  const nothing = await measure({ executions: 0, steps: FEW_STEPS });
  const few = await measure({ executions, steps: FEW_STEPS });
  const many = await measure({ executions, steps: MANY_STEPS });
  const settings = { executions };
  return Object.keys(few).flatMap((metric) => {
    const of = (counts: Counts): number => counts[metric] ?? 0;
    const step = (of(many) - of(few)) / (MANY_STEPS - FEW_STEPS) / executions;
    const execution = (of(few) - of(nothing)) / executions - step * FEW_STEPS;
    return Object.entries({ step, 'execution without steps': execution }).flatMap(
      ([each, count]) => {
        const name = `${subject} · per ${each} · ${metric}`;
        const budget = BUDGETS[`${kind} · ${subject} · per ${each}`]?.[metric] ?? Number.NaN;
        const base = { suite: 'regress', case: name, store: kind, settings, unit: '' };
        return [
          { ...base, metric: 'count', value: count },
          { ...base, metric: 'budget', value: budget },
          { ...base, metric: 'of budget', value: count / budget },
        ];
      },
    );
  });
}

/** Counts on a new database, from the first connection to the end of the last. */
async function countedIn(
  factory: StoreFactory,
  run: (url: string) => Promise<Counts>,
): Promise<Counts> {
  return factory.with(async (location) => {
    if (location.kind !== 'postgres') throw new Error(`Not measured: ${location.kind}.`);
    const direct = new URL(location.url);
    const database = direct.pathname.slice(1);
    const server = new pg.Pool({ connectionString: serverUrl(direct), max: 1 });
    const proxy = await countingProxy(Number(direct.port), POSTGRES);
    const number = async (sql: string): Promise<number> => {
      const { rows } = await server.query<{ n: string | null }>(sql);
      return Number(rows[0]?.n ?? 0);
    };
    try {
      await server.query('alter system set full_page_writes = off');
      await server.query('select pg_reload_conf()');
      const walBefore = await number(WAL_BYTES);
      const wire = await run(throughProxy(direct, proxy));
      // Backends report their statistics at the latest when they exit.
      while ((await number(connectedTo(database))) > 0) await pause(20);
      const walBytes = (await number(WAL_BYTES)) - walBefore;
      const transactions = await number(transactionsOf(database));
      const rows = await rowsWritten(location.url);
      return {
        transactions,
        rows,
        'WAL bytes': walBytes,
        ...databaseTraffic(proxy),
        ...wire,
      };
    } finally {
      await proxy.close();
      await server.end();
    }
  });
}

function databaseTraffic({ bytes, messages }: CountingProxy): Counts {
  const sent = (type: string): number => messages.get(`client ${type}`) ?? 0;
  return {
    statements: sent('E') + sent('Q'),
    'round trips': sent('S') + sent('Q'),
    'database bytes': bytes,
  };
}

async function runEmbedded(url: string, { executions, steps }: Load): Promise<Counts> {
  const holdfast = await openHoldfast({ store: url });
  const work = stepsPipeline(steps);
  await holdfast.worker({ pipelines: [work], ...QUIET });
  for (let nth = 0; nth < executions; nth += 1) {
    requireText(await (await holdfast.submit(work, ORDER)).result());
  }
  await holdfast.close();
  return {};
}

/** Each step stands for a write of heartbeats. The engine sends at most one a second. */
async function runHeartbeats(url: string, { executions, steps }: Load): Promise<Counts> {
  const { store } = await openHoldfast({ store: url });
  const owner = await worker(store, 'bench', LONG);
  for (let nth = 0; nth < executions; nth += 1) {
    const held = await running(store, owner);
    for (let row = 1; row <= steps; row += 1) {
      const details = payload({ v: { row } });
      const beat = { key: 'step:copy#1' as CallKey, attempt: 1, at: 0 as Instant, details };
      const write = { ...writing(held), events: [], heartbeats: [beat] };
      if ((await store.executions.record(write)).kind !== 'recorded') throw new Error('Refused.');
    }
    await mustFinish(store, held);
  }
  await store.close();
  return {};
}

async function runThroughCoordinator(url: string, { executions, steps }: Load): Promise<Counts> {
  const { store } = await openHoldfast({ store: url });
  const server = await openServer({ store, port: 0, console: false });
  const at = new URL(server.url);
  const [forWorker, forClient] = await Promise.all(
    [1, 2].map(() => countingProxy(Number(at.port), WEB_SOCKET)),
  );
  if (forWorker === undefined || forClient === undefined) throw new Error('No proxy.');
  const key = String(server.firstKey);
  const work = stepsPipeline(steps);
  const opened = await openWorker({
    ...{ url: throughProxy(at, forWorker), key, pipelines: [work] },
    ...QUIET,
  });
  const client = new HoldfastClient({ url: throughProxy(at, forClient), key });
  for (let nth = 0; nth < executions; nth += 1) {
    const { id } = await client.executions.submit({ pipeline: work.name, input: ORDER });
    requireText((await client.executions.result(id)).output);
  }
  await opened.stop();
  await server.close();
  await store.close();
  const counts = {
    ...streamTraffic('worker', forWorker),
    ...streamTraffic('client', forClient),
  };
  await forWorker.close();
  await forClient.close();
  return counts;
}

function streamTraffic(who: string, { bytes, messages }: CountingProxy): Counts {
  return { [`${who} frames`]: messages.get('frame') ?? 0, [`${who} bytes`]: bytes };
}

function requireText(output: unknown): void {
  if (output !== TEXT) throw new Error(`Not measured: a result is ${JSON.stringify(output)}.`);
}

function throughProxy(url: URL, { port }: CountingProxy): string {
  const via = new URL(url);
  via.hostname = '127.0.0.1';
  via.port = String(port);
  return via.href;
}

function serverUrl(url: URL): string {
  const other = new URL(url);
  other.pathname = '/postgres';
  return other.href;
}

const WAL_BYTES = `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as n`;

function connectedTo(database: string): string {
  return `select count(*) as n from pg_stat_activity
    where datname = '${database}' and backend_type = 'client backend'`;
}

function transactionsOf(database: string): string {
  return `select xact_commit + xact_rollback as n from pg_stat_database where datname = '${database}'`;
}

async function rowsWritten(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ n: string }>(
    'select sum(n_tup_ins + n_tup_upd + n_tup_del) as n from pg_stat_user_tables',
  );
  await client.end();
  return Number(rows[0]?.n ?? 0);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
