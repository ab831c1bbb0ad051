// A person at a browser, who notices everything that must not happen: outgoing requests, errors,
// layout shifts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { isFullRun } from '../../services/tier.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SHOTS = join(import.meta.dirname, '../../../.cache/screenshots');

const RULES = JSON.stringify({
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
});

/** The longest wait for something to appear. */
const WAIT_MS = 15_000;

/** "Good" in the browser's own measure, which leaves out changes that a person causes. */
const SHIFT_MAX = 0.1;
const SHIFTS = `(() => {
  const observer = new PerformanceObserver(() => undefined);
  observer.observe({ type: 'layout-shift', buffered: true });
  const entries = observer.takeRecords().filter((each) => !each.hadRecentInput);
  observer.disconnect();
  const named = ({ node, previousRect, currentRect }) =>
    [node?.nodeName, node?.className, previousRect.y, '->', currentRect.y].join(' ');
  return {
    moved: entries.reduce((sum, each) => sum + each.value, 0),
    parts: entries.flatMap(({ value, sources }) => [value, ...sources.map(named)]),
  };
})()`;

const WIDTH = `new Promise((resolve) => {
  const measure = () => resolve(document.documentElement.scrollWidth);
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(measure)));
})`;

const CUT_TABLES = `[...document.querySelectorAll('.table-scroll')]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label'))`;

export type Theme = 'light' | 'dark';

export class ConsoleDriver {
  readonly page: Page;
  readonly url: string;
  readonly #label: string;
  readonly #troubles: string[] = [];

  constructor(page: Page, { url, label }: { readonly url: string; readonly label: string }) {
    this.page = page;
    this.url = url;
    this.#label = label;
    page.setDefaultTimeout(WAIT_MS);
    page.on('request', (request) => {
      if (!request.url().startsWith(`${url}/`)) this.#troubles.push(`left: ${request.url()}`);
    });
    page.on('pageerror', (error) => this.#troubles.push(`threw: ${error.message}`));
    page.on('console', (message) => {
      // The page shows refusals of the coordinator. Any other message is a fault, or the content
      // policy.
      const isReply = /Failed to load resource: the server responded/.test(message.text());
      if (message.type() === 'error' && !isReply) this.#troubles.push(`said: ${message.text()}`);
    });
  }

  static async create(
    context: BrowserContext,
    at: { readonly url: string; readonly label: string },
  ): Promise<ConsoleDriver> {
    return new ConsoleDriver(await context.newPage(), at);
  }

  /** With a key that may do everything. */
  async signIn(key: string): Promise<void> {
    await this.page.goto(`${this.url}/`);
    await this.page.getByLabel('API key').fill(key);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.heading('Overview').waitFor();
  }

  async open(path: string, heading: string): Promise<void> {
    await this.page.goto(`${this.url}/console${path}`);
    await this.heading(heading).waitFor();
  }

  heading(name: string): Locator {
    return this.page.getByRole('heading', { level: 1, name, exact: true });
  }

  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  async theme(theme: Theme): Promise<void> {
    await this.page.emulateMedia({ colorScheme: theme });
  }

  /** Screenshots for people. Only a full run takes them. */
  async shoot(name: string): Promise<void> {
    if (!isFullRun()) return;
    const folder = join(SHOTS, this.#label);
    await mkdir(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`) });
  }

  /** WCAG 2.2 AA, as far as a program can check it. */
  async checkAccess(what: string): Promise<void> {
    await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate<Found>(`axe.run(document, ${RULES})`);
    const found = violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`,
    );
    assert.deepEqual(found, [], `${what}: axe`);
  }

  /** Nothing is wider than the window. Only tables scroll sideways, inside themselves. */
  async checkWidth(width: number, shot?: string): Promise<void> {
    const before = this.page.viewportSize();
    await this.page.setViewportSize({ width, height: 900 });
    // An element that adapts to the window learns its size with the next frame, and is drawn with
    // the one after.
    const wide = await this.page.evaluate<number>(WIDTH);
    assert.ok(wide <= width, `${this.page.url()} is ${wide} wide in a window of ${width}`);
    if (shot !== undefined) await this.shoot(`${shot}-${width}`);
    if (before !== null) await this.page.setViewportSize(before);
  }

  /**
   * In a usual window a table shows all of its columns, since readers do not find a column behind
   * an edge.
   */
  async checkTables(what: string): Promise<void> {
    const cut = await this.page.evaluate<readonly string[]>(CUT_TABLES);
    assert.deepEqual(cut, [], `${what}: tables that are wider than their place`);
  }

  /** Nothing moves under the reader's eyes while the page loads, by the browser's own measure. */
  async checkStill(what: string): Promise<void> {
    const { moved, parts } = await this.page.evaluate<Shifts>(SHIFTS);
    assert.ok(moved < SHIFT_MAX, `${what} moved by ${moved}: ${parts.join(', ')}`);
  }

  /** These errors were expected, so they do not count. */
  checkTrouble(expected: RegExp): void {
    const others = this.#troubles.filter((each) => !expected.test(each));
    assert.ok(others.length < this.#troubles.length, `there was no trouble like ${expected}`);
    this.#troubles.splice(0, this.#troubles.length, ...others);
  }

  checkNoErrors(): void {
    assert.deepEqual(this.#troubles, []);
  }
}

interface Shifts {
  readonly moved: number;
  readonly parts: readonly (string | number)[];
}

interface Found {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
}
