// A real coordinator process stops (SIGSTOP). Its connections stay open and nothing fails, so the
// console must notice the silence.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { provideConsole } from '../../scripts/console/provide.ts';
import { startHoldfast } from '../cli/spawned.ts';
import { startChromium } from '../services/chromium.ts';
import { ConsoleDriver } from './browser/console-driver.ts';

const PAGES = [
  ['/', 'Overview'],
  ['/executions', 'Executions'],
  ['/workers', 'Workers'],
  ['/inbox', 'Inbox'],
] as const;

/** Three pings are 12 s. */
const NOTICED_MS = 20_000;

/** Parts of a page that each had a clock of their own would notice the silence at different times. */
const APART = `{
  const start = window.setInterval;
  let started = 0;
  window.setInterval = (run, ms) => {
    const lateMs = (Math.min(started++, 4) * ms) / 5;
    return start(() => window.setTimeout(run, lateMs), ms);
  };
}`;

const COLOUR = `getComputedStyle(document.querySelector('main > :last-child')).filter`;

async function checkStale(page: Page, text: RegExp): Promise<void> {
  await page.locator('.stale-banner').waitFor({ timeout: NOTICED_MS });
  assert.match(await page.evaluate<string>(COLOUR), /grayscale/, page.url());
  await page.getByText(text).waitFor();
  await page.getByText(/^Stale · \d+ s$/).waitFor();
  assert.equal(await page.locator('.liveness-live').count(), 0);
  assert.equal(await page.getByText('Healthy').count(), 0, page.url());
}

test('no page looks healthy after failed reads or three missed pings, and all recover', async () => {
  await provideConsole(() => undefined);
  const cwd = await mkdtemp(join(tmpdir(), 'holdfast-frozen-'));
  const dev = startHoldfast(['dev', '--port', '0'], { cwd });
  const browser = await startChromium();
  try {
    const url = await dev.url();
    await dev.prints(/"first":"([^"]+)"/);
    const drivers = await Promise.all(
      PAGES.map(async ([path, heading]) => {
        const driver = await ConsoleDriver.create(browser.context, { url, label: 'frozen' });
        await driver.page.addInitScript(APART);
        await driver.open(path, heading);
        await driver.page.locator('.liveness-live').waitFor();
        // A screenshot waits for the fonts, which a frozen coordinator does not send.
        await driver.page.evaluate('document.fonts.ready.then(() => undefined)');
        return driver;
      }),
    );
    // The event stream goes on, and the reads fail at once or after a time limit.
    const sick = drivers.slice(0, 2);
    for (const [index, { page }] of sick.entries()) {
      await page.route(/\/v1\/(?!events)/, async (route) => {
        if (index === 0) await route.fulfill({ status: 500, body: 'a proxy' });
      });
    }
    for (const { page } of sick) {
      await checkStale(page, /Reads have failed for \d+ s/);
    }
    for (const { page } of sick) {
      await page.unrouteAll();
      await page.locator('.liveness-live').waitFor();
      await page.locator('.stale-banner').waitFor({ state: 'detached' });
    }
    dev.child.kill('SIGSTOP');
    for (const { page } of drivers) {
      await checkStale(page, /has not responded for \d+ s/);
    }
    await drivers[0]?.checkAccess('a stale page');
    await drivers[0]?.shoot('stale');
    dev.child.kill('SIGCONT');
    for (const { page } of drivers) {
      await page.locator('.liveness-live').waitFor();
      await page.locator('.stale-banner').waitFor({ state: 'detached' });
    }
  } finally {
    dev.child.kill('SIGCONT');
    await browser.stop();
    await dev.stop('SIGKILL');
    await rm(cwd, { recursive: true, force: true });
  }
});
