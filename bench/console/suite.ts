// npm run bench -- console: what a person feels who looks at very much.

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { provideConsole } from '../../scripts/console/provide.ts';
import { openServer } from '../../src/server/serve.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { startChromium } from '../../test/services/chromium.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { seedExecutions, seedHistory } from './seed.ts';

const FULL = { executions: 1_000_000, events: 50_000 } as const;
const QUICK = { executions: 20_000, events: 5_000 } as const;
const SCROLL_MS = 3_000;

export const consoleSuite: Suite = {
  name: 'console',
  summary: 'the console in Chromium: 1,000,000 executions, a history of 50,000 events',
  legend: [
    'shown: from asking for the page to its first row, nothing of it cached.',
    'again: the same, with its files in the browser.',
    'frame p50, p99: between frames while it is scrolled as fast as it goes; 16.7 is 60 in a second.',
  ],
  run,
};

async function* run(plan: Plan): AsyncGenerator<Result, void, void> {
  if (!plan.stores.includes('sqlite')) return;
  const size = plan.quick ? QUICK : FULL;
  await provideConsole(() => undefined);
  const store = await openSqliteStore({ file: join(scratchFolder(), 'console.db') });
  const server = await openServer({ store, port: 0, auth: 'off', maintenance: false });
  const browser = await startChromium();
  try {
    plan.progress('seeding');
    const long = await seedHistory(store, size.events);
    await seedExecutions(store, size.executions, plan.progress);
    const page = await browser.context.newPage();
    const polls: readonly Look[] = [
      {
        name: 'executions, by the overview',
        path: '/',
        row: '.backlog li',
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
    for (const look of polls) {
      if (!look.name.includes(plan.only)) continue;
      plan.progress(look.name);
      yield* measured(page, server.url, look);
    }
  } finally {
    await browser.stop();
    await server.close();
    await store.close();
  }
}

interface Look {
  readonly name: string;
  readonly path: string;
  readonly row: string;
  /** Absent where nothing is long. */
  readonly scrolled?: string;
  readonly rows: number;
}

async function* measured(page: Page, url: string, look: Look): AsyncGenerator<Result, void, void> {
  const result = (metric: string, value: number): Result => ({
    ...{ suite: 'console', store: 'sqlite', metric, value, unit: 'ms' },
    case: `${look.rows.toLocaleString('en-GB')} ${look.name}`,
    settings: { durability: 'full' },
  });
  const shownIn = async (): Promise<number> => {
    const startedAt = performance.now();
    await page.goto(`${url}/console${look.path}`);
    await page.locator(look.row).first().waitFor();
    return performance.now() - startedAt;
  };
  yield result('shown', await shownIn());
  yield result('again', await shownIn());
  if (look.scrolled === undefined) return;
  const frames = await page.evaluate<number[]>(scrolling(look.scrolled));
  frames.sort((one, other) => one - other);
  const at = (part: number): number => frames[Math.floor(frames.length * part)] ?? 0;
  yield result('frame p50', at(0.5));
  yield result('frame p99', at(0.99));
}

/** In the page: the times between frames while it is scrolled. */
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
