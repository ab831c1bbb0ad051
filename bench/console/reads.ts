// The reads of the console on PostgreSQL: overview, trends, and the first page and the count of each
// filter. Then many browsers watch the overview at once.

import { HoldfastClient } from '../../src/client/client.ts';
import { openServer } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { startPostgres } from '../../test/services/postgres.ts';
import type { Result } from '../report.ts';
import type { Plan } from '../suite.ts';
import { seedPostgres } from './seed-postgres.ts';

/** A store that an earlier run filled. Seeding takes longer than measuring. */
const SEEDED_VARIABLE = 'HOLDFAST_BENCH_CONSOLE_URL';

/** Neither changes plans. */
const SETTINGS = { fsync: 'off', shared_buffers: '512MB', max_wal_size: '8GB' } as const;

type Filter = NonNullable<Parameters<HoldfastClient['executions']['list']>[0]>;

const ENDED_IN_HOUR = {
  endedFrom: new Date(Date.now() - 40 * 86_400_000).toISOString(),
  endedTo: new Date(Date.now() - 40 * 86_400_000 + 3_600_000).toISOString(),
};

const FILTERS: Readonly<Record<string, Filter>> = {
  'no filter': {},
  'oldest first': { sort: 'oldest' },
  'last ended first': { sort: 'ended' },
  'completed, oldest first': { status: ['completed'], sort: 'oldest' },
  failed: { status: ['failed', 'quarantined'] },
  'one pipeline': { pipeline: 'pipeline-3' },
  'one release': { release: 'v3' },
  'failed in one pipeline and release': {
    ...{ pipeline: 'pipeline-0', release: 'v1', status: ['failed'] },
  },
  key: { key: 'order/4711' },
  'rare key prefix': { q: 'order/4711' },
  'frequent key prefix': { q: 'order/' },
  'id prefix': { idPrefix: '019' },
  'error code': { code: 'code-7' },
  'frequent tag': { tag: 'eu' },
  'frequent tag, rare status': { tag: 'eu', status: ['cancelled'] },
  'rare attribute': { where: ['customer=c4711'] },
  'frequent attribute': { where: ['region=r3'] },
  'narrow range': { where: ['total>=99990'] },
  'wide range': { where: ['total>=50000'] },
  'range that nothing matches': { where: ['total>=100001'] },
  'three attributes': { where: ['region=r3', 'total>=1000', 'total<=2000'] },
  'three attributes, tag, failed': {
    ...{ where: ['region=r3', 'total>=1000', 'total<=50000'], tag: 'eu', status: ['failed'] },
  },
  'wide range, last ended first': { where: ['total>=50000'], sort: 'ended' },
  'ended in one hour': ENDED_IN_HOUR,
  'ended in one hour, newest first': { ...ENDED_IN_HOUR, sort: 'newest' },
  'ended before a day, failed': { endedTo: ENDED_IN_HOUR.endedTo, status: ['failed'] },
  'top level': { topLevel: true },
  'top level, failed, frequent attribute': {
    ...{ topLevel: true, status: ['failed'], where: ['region=r3'] },
  },
  worker: { worker: 'worker-1' },
  'one day': {
    submittedFrom: new Date(Date.now() - 40 * 86_400_000).toISOString(),
    submittedTo: new Date(Date.now() - 39 * 86_400_000).toISOString(),
  },
  'wide range within one day': {
    where: ['total>=50000'],
    submittedFrom: new Date(Date.now() - 40 * 86_400_000).toISOString(),
    submittedTo: new Date(Date.now() - 39 * 86_400_000).toISOString(),
  },
};

const FULL = { executions: 10_000_000, samples: 20 } as const;
const QUICK = { executions: 20_000, samples: 5 } as const;
/** Counts are not part of a page and may take longer. */
const COUNT_SAMPLES = 3;
const BROWSERS = 100;
const WATCHED_MS = 5_000;

export async function* measureReads(plan: Plan): AsyncGenerator<Result, void, void> {
  const full = plan.quick ? QUICK : FULL;
  const size = { ...full, executions: Math.min(full.executions, plan.sizeMax) };
  const seeded = process.env[SEEDED_VARIABLE];
  const own = seeded === undefined ? await startPostgres({ settings: SETTINGS }) : undefined;
  const url = own?.url ?? seeded ?? '';
  const counted = { figures: 0 };
  const store = countingFigures(await openPostgresStore({ url, schema: 'hf' }), counted);
  if (own !== undefined) await seedPostgres(url, size.executions, plan.progress);
  const server = await openServer({ store, port: 0, auth: 'off', maintenance: false });
  const client = new HoldfastClient({ url: server.url });
  const result = (name: string, metric: string, value: number): Result => ({
    ...{ suite: 'console', store: 'postgres', case: name, metric, value },
    unit: metric === 'aggregates' ? '/s' : 'ms',
    settings: { executions: size.executions, samples: size.samples, ...SETTINGS },
  });
  const measured = async (
    read: () => Promise<unknown>,
    samples: number = size.samples,
  ): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let nth = 0; nth < samples; nth += 1) {
      const startedAt = performance.now();
      await read();
      times.push(performance.now() - startedAt);
    }
    return times.sort((one, other) => one - other);
  };
  try {
    for (const [name, read] of Object.entries({
      overview: () => client.overview.read(),
      'trends of 24 hours': () => client.overview.trends({ rangeMs: 86_400_000 }),
      'trends of 90 days': () => client.overview.trends({ rangeMs: 90 * 86_400_000 }),
    }).filter(([each]) => each.includes(plan.only))) {
      plan.progress(name);
      // Until the coordinator reads the figures again.
      const times = await measured(async () => {
        await systemTimers.pause(PAUSE_MS);
        await read();
      });
      yield* percentiles(times.map((ms) => ms - PAUSE_MS)).map(([metric, ms]) =>
        result(name, metric, ms),
      );
    }
    for (const [name, filter] of Object.entries(FILTERS)) {
      if (!name.includes(plan.only)) continue;
      plan.progress(name);
      const pages = await measured(() => client.executions.list(filter));
      yield* percentiles(pages).map(([metric, ms]) => result(name, metric, ms));
      const { sort: _, ...counting } = filter;
      const counts = await measured(() => client.executions.count(counting), COUNT_SAMPLES);
      yield* percentiles(counts).map(([metric, ms]) => result(name, `count ${metric}`, ms));
    }
    if ('browsers'.includes(plan.only)) {
      counted.figures = 0;
      const until = performance.now() + WATCHED_MS;
      await Promise.all(
        Array.from({ length: BROWSERS }, async () => {
          while (performance.now() < until) {
            await client.overview.read();
            await systemTimers.pause(200);
          }
        }),
      );
      const rate = counted.figures / (WATCHED_MS / 1_000);
      yield result(`${BROWSERS} browsers`, 'aggregates', rate);
    }
  } finally {
    await server.close();
    await store.close();
    await own?.stop();
  }
}

/** A little longer than a coordinator keeps its figures. */
const PAUSE_MS = 1_010;

function percentiles(times: readonly number[]): readonly (readonly [string, number])[] {
  const at = (part: number): number => times[Math.ceil(times.length * part) - 1] ?? 0;
  return [
    ['p50', at(0.5)],
    ['p95', at(0.95)],
  ];
}

function countingFigures(store: CoordinatorStore, counted: { figures: number }): CoordinatorStore {
  const { executions } = store;
  const figures: typeof executions.figures = (query) => {
    counted.figures += 1;
    return executions.figures(query);
  };
  return { ...store, executions: { ...executions, figures } };
}
