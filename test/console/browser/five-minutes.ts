// The first five minutes after `npm start`: the whole script, in a real browser, with real
// processes, one of which really stops.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideConsole } from '../../../scripts/console/provide.ts';
import { startHoldfast } from '../../cli/spawned.ts';
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

async function approve(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await page.getByRole('link', { name: '1 Approve an order' }).click();
  await page.getByText('"soup"').waitFor();
  await page.getByLabel('yes').check();
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByText('No open requests').waitFor();
  const resumed = page.getByRole('listitem').filter({ hasText: 'resumed where it was waiting' });
  await resumed.getByRole('link').waitFor();
  await page.getByRole('link', { name: 'View code', exact: true }).click();
  await page.getByText('export function restaurantOrder').waitFor();
  await driver.checkAccess('the demo source');
  // The state that a second start finds: something to approve, or something to repair.
  await driver.button('1 New order').click();
  await page.getByText('Waiting for approval').waitFor();
  await page.getByRole('link', { name: '1 Approve an order' }).waitFor();
}

async function freeze(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await page.getByRole('link', { name: 'Leases and workers' }).click();
  await driver.button('2 Freeze a worker').click();
  await page.getByText(/frozen mid-step \(SIGSTOP/).waitFor({ timeout: WAIT_MS });
  await page.getByText(/took over with fence/).waitFor({ timeout: WAIT_MS });
  await page.getByText(/Refused: fence \S+ is older than/).waitFor({ timeout: WAIT_MS });
  const refused = page.getByRole('table', { name: 'Refused writes' });
  await refused
    .getByRole('cell', { name: /^cook-\d$/ })
    .first()
    .waitFor();
  await driver.shoot('refused');
  await driver.checkAccess('the strip');
  await page.getByRole('listitem').filter({ hasText: 'Refused: fence' }).getByRole('link').click();
  await page.getByRole('cell', { name: 'Taken over' }).waitFor();
  await page.getByText(/Completed at/).waitFor();
  await driver.shoot('taken-over');
}

async function failPayment(driver: ConsoleDriver): Promise<void> {
  const { page } = driver;
  await driver.button('3 Fail a payment').click();
  await page.getByText('quarantined with a dead letter').waitFor({ timeout: WAIT_MS });
  const story = page.getByRole('listitem').filter({ hasText: 'quarantined with a dead letter' });
  await story.getByRole('link').click();
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
  await page.getByRole('link', { name: '4 Recover it' }).click();
  await driver.heading('Dead letters').waitFor();
  await driver.button('Re-drive all…').click();
  await driver.button('Re-drive dead letters').click();
  await driver.heading('Bulk re-drive').waitFor();
  await page.getByRole('cell').getByRole('link').nth(1).click();
  await page.getByText(/Compensated at/).waitFor();
}
