// The console suite: how long pages with very many rows take to load and to scroll on SQLite, and
// the reads behind them on PostgreSQL.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { provideConsole } from '../../scripts/console/provide.ts';
import { openServer } from '../../src/server/serve.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { startChromium } from '../../test/services/chromium.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { measureReads } from './reads.ts';
import { seedExecutions, seedHistory } from './seed.ts';

const FULL = { executions: 1_000_000, events: 50_000 } as const;
const QUICK = { executions: 20_000, events: 5_000 } as const;
const SCROLL_MS = 3_000;

export const consoleSuite: Suite = {
  name: 'console',
  summary:
    'The console in Chromium with 1,000,000 executions, and its reads with 10,000,000 on PostgreSQL',
  legend: [
    'shown: time from the request to the first row, with an empty browser cache.',
    'again: the same, with a warm browser cache.',
    'p50, p95: time of the first page of a filter; count: of its count. The goal is a p95 of 300 ms.',
    'aggregates: reads of the overview by the coordinator while 100 browsers show it. The goal is 1/s.',
    'frame p50, p99: time between frames during fast scrolling. 16.7 ms are 60 frames per second.',
  ],
  run,
};

async function* run(plan: Plan): AsyncGenerator<Result, void, void> {
  if (plan.stores.includes('sqlite')) yield* measurePages(plan);
  if (plan.stores.includes('postgres')) yield* measureReads(plan);
}

async function* measurePages(plan: Plan): AsyncGenerator<Result, void, void> {
  const full = plan.quick ? QUICK : FULL;
  const size = { ...full, executions: Math.min(full.executions, plan.sizeMax) };
  await provideConsole(() => undefined);
  const store = await openSqliteStore({ file: join(scratchFolder(), 'console.db') });
  const server = await openServer({ store, port: 0, auth: 'off', maintenance: false });
  const browser = await startChromium();
  try {
    plan.progress('seeding');
    const long = await seedHistory(store, size.events);
    await seedExecutions(store, size.executions, plan.progress);
    const page = await browser.context.newPage();
    const cases: readonly PageCase[] = [
      {
        name: 'executions, overview',
        path: '/',
        row: '[aria-label=Pipelines] a',
        rows: size.executions,
      },
      {
        name: 'executions',
        path: '/executions',
        row: '[role=row] .ident',
        scrolled: '.table-long',
        rows: size.executions,
      },
      {
        name: 'events of one history',
        path: `/executions/${long}`,
        row: '.event',
        scrolled: '.history-list',
        rows: size.events,
      },
    ];
    for (const each of cases) {
      if (!each.name.includes(plan.only)) continue;
      plan.progress(each.name);
      yield* measured(page, server.url, each);
    }
  } finally {
    await browser.stop();
    await server.close();
    await store.close();
  }
}

interface PageCase {
  readonly name: string;
  readonly path: string;
  readonly row: string;
  /** The selector of the element to scroll. Absent if the page has no long list. */
  readonly scrolled?: string;
  readonly rows: number;
}

async function* measured(
  page: Page,
  url: string,
  { name, path, row, rows, scrolled }: PageCase,
): AsyncGenerator<Result, void, void> {
  const result = (metric: string, value: number): Result => ({
    ...{ suite: 'console', store: 'sqlite', metric, value, unit: 'ms' },
    case: `${rows.toLocaleString('en-GB')} ${name}`,
    settings: { durability: 'full' },
  });
  const shownIn = async (): Promise<number> => {
    const startedAt = performance.now();
    await page.goto(`${url}/console${path}`);
    await page.locator(row).first().waitFor();
    return performance.now() - startedAt;
  };
  yield result('shown', await shownIn());
  yield result('again', await shownIn());
  if (scrolled === undefined) return;
  const frames = await page.evaluate<number[]>(scrolling(scrolled));
  frames.sort((one, other) => one - other);
  const at = (part: number): number => frames[Math.floor(frames.length * part)] ?? 0;
  yield result('frame p50', at(0.5));
  yield result('frame p99', at(0.99));
}

/** A script for the page that returns the times between frames while it scrolls. */
function scrolling(selector: string): string {
  return `new Promise((resolve) => {
    const element = document.querySelector('${selector}');
    const frames = [];
    let last = performance.now();
    const end = last + ${SCROLL_MS};
    const next = (now) => {
      frames.push(now - last);
      last = now;
      element.scrollTop += 600;
      if (now < end) requestAnimationFrame(next);
      else resolve(frames);
    };
    requestAnimationFrame(next);
  })`;
}
