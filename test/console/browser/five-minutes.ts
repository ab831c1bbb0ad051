// The first five minutes after `npm start`: the whole script, in a real browser, with real
// processes, one of which really stops.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { provideConsole } from '../../../scripts/console/provide.ts';
import { HoldfastClient } from '../../../src/client/client.ts';
import { pipeline } from '../../../src/index.ts';
import { openWorker } from '../../../src/worker/open-worker.ts';
import { startHoldfast } from '../../cli/spawned.ts';
import { until } from '../../server/coordinator.ts';
import { startChromium } from '../../services/chromium.ts';
import { ConsoleDriver } from './console-driver.ts';

export const SCRIPT =
  'approve, freeze, see the late write refused, fail a payment, re-drive what is left';

/** A lease must lapse before another worker cooks, which takes its time. */
const WAIT_MS = 120_000;

/** `flags` name the place of its state. */
export async function playFiveMinutes(label: string, flags: readonly string[]): Promise<void> {
  await provideConsole(() => undefined);
  const cwd = await mkdtemp(join(tmpdir(), 'holdfast-five-'));
  const dev = startHoldfast(['dev', '--port', '0', ...flags], { cwd });
  const browser = await startChromium();
  try {
    const url = await dev.url();
    await dev.prints(/"first":"([^"]+)"/);
    const driver = await ConsoleDriver.create(browser.context, { url, label });
    await driver.page.goto(`${url}/`);
    await driver.heading('Overview').waitFor();
    await approve(driver);
    await freeze(driver);
    await failPayment(driver);
    await redrive(driver);
    driver.checkNoErrors();
  } finally {
    await browser.stop();
    await dev.stop('SIGKILL');
    await rm(cwd, { recursive: true, force: true });
  }
}

/** The card of one step of the tour. */
function step(driver: ConsoleDriver, title: string): Locator {
  return driver.page.locator('.guide-step').filter({ hasText: title });
}

async function tour(driver: ConsoleDriver): Promise<void> {
  await driver.page.getByRole('link', { name: 'Back to the tour' }).click();
  await driver.heading('Overview').waitFor();
}

async function approve(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await page.getByRole('link', { name: 'Approve in the inbox' }).click();
  await page.getByText('"soup"').waitFor();
  await page.getByLabel('yes').check();
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByText('No open requests').waitFor();
  await page.getByText('resumed where it was waiting').first().waitFor();
  await tour(driver);
  await page.getByRole('link', { name: "View the demo's code", exact: true }).click();
  await page.getByText('export function restaurantOrder').waitFor();
  await driver.checkAccess('the demo source');
  await tour(driver);
  await otherRequest(driver);
  // The state that a second start finds: something to approve, or something to repair.
  await driver.button('New order').click();
  await page.getByText('Waiting for approval').waitFor();
  await page.getByRole('link', { name: 'Approve in the inbox' }).waitFor();
}

/** The request of another pipeline, under the same name, is no order to approve. */
async function otherRequest({ url, page }: ConsoleDriver): Promise<void> {
  const expense = pipeline({ name: 'expense', run: (ctx) => ctx.await('approval') });
  const worker = await openWorker({ url, pipelines: [expense] });
  const client = new HoldfastClient({ url });
  try {
    const { id } = await client.executions.submit({ pipeline: 'expense' });
    const asked = await until(async () => (await client.awaits.list()).items[0]);
    await page.reload();
    await page.getByTitle(/^1 open request/).waitFor();
    await page.getByRole('button', { name: 'New order' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Approve in the inbox' }).count(), 0);
    await client.awaits.answer(asked.id, { ok: true });
    await client.executions.result(id);
  } finally {
    await worker.stop();
  }
}

async function freeze(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await driver.button('Freeze a worker').click();
  await page.locator('.crew-frozen').getByText('Frozen').waitFor({ timeout: WAIT_MS });
  await page
    .locator('.crew-frozen')
    .getByText(/Lease (expires in|expired)/)
    .waitFor();
  await driver.shoot('frozen');
  const stamp = page.getByRole('link', { name: /^Late write refused \(\S+ < \S+\)$/ });
  await stamp.waitFor({ timeout: WAIT_MS });
  await step(driver, 'Freeze a worker').getByText('(done)').waitFor();
  await driver.checkAccess('the tour');
  await driver.shoot('refused');
  await stamp.click();
  await page.getByText(/The store refused the write, and nothing was changed/).waitFor();
  await page.locator('.line-refused.line-chosen').waitFor();
  await page.getByRole('cell', { name: 'Taken over' }).waitFor();
  await page.getByText(/Completed at/).waitFor();
  await driver.shoot('taken-over');
}

async function failPayment(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await tour(driver);
  await driver.button('Fail a payment').click();
  await step(driver, 'Fail a payment').getByText('(done)').waitFor({ timeout: WAIT_MS });
  await step(driver, 'Fail a payment')
    .getByRole('link', { name: 'See it on the timeline' })
    .click();
  await page.getByText(/Quarantined at/).waitFor();
  // The page reads the history and the explanation separately, so wait for both.
  const undone = page.locator('.line-undo .line-name');
  await undone.nth(3).waitFor();
  // In reverse order: the last course first, the payment last.
  const lanes = await undone.allTextContents();
  assert.deepEqual(lanes, ['↶ plate', '↶ cook', '↶ chop', '↶ charge']);
  await driver.shoot('undone');
}

async function redrive(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await tour(driver);
  await page.getByRole('link', { name: 'Open dead letters', exact: true }).click();
  await driver.heading('Dead letters').waitFor();
  await driver.button('Retry 1 compensation…').click();
  await driver.button('Retry 1 compensation').click();
  await driver.heading('Bulk re-drive').waitFor();
  await page.getByRole('cell').getByRole('link').nth(1).click();
  await page.getByText(/Compensated at/).waitFor();
  await tour(driver);
  await step(driver, 'Recover it').getByText('(done)').waitFor();
  await step(driver, 'Now your own code').getByText('npm run -s holdfast -- init shop').waitFor();
}
