// A deploy by mouse: preflight, refusal, canary, promotion, drain, repin and retirement.

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { pipeline } from '../../../src/index.ts';
import type { ConsoleDriver } from './console-driver.ts';
import type { BrowserCase } from './register.ts';

function build(driver: ConsoleDriver, name: string): Locator {
  return driver.page.getByRole('list', { name: 'Releases' }).getByRole('button', { name });
}

async function choose(driver: ConsoleDriver, name: string): Promise<void> {
  await build(driver, name).click();
  await driver.page.getByRole('heading', { level: 2, name, exact: true }).waitFor();
}

/** Fills in the dialog of an operation and sends it. */
async function operation(
  driver: ConsoleDriver,
  { label, title, reason }: { readonly label: string; readonly title: string; reason: string },
): Promise<void> {
  await driver.button(label).click();
  await driver.page.getByLabel(/^Reason/).fill(reason);
  await driver.button(title).click();
}

async function isGone(driver: ConsoleDriver): Promise<void> {
  await driver.page.locator('dialog').waitFor({ state: 'detached' });
}

const refusesWhatBreaks: BrowserCase = {
  name: 'a release that would break executions names them and their steps, and is not activated',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open('/releases', 'Releases');
    await page.getByRole('link', { name: 'parcel' }).click();
    await driver.heading('parcel').waitFor();
    await choose(driver, 'v3');
    await page.getByText('Incompatible with the active release.').waitFor();
    await page.getByText('2 of 2 open executions checked: 2 would break.').waitFor();
    const [id = ''] = world.parcels;
    const broken = page.getByRole('listitem').filter({ has: page.locator(`a[title="${id}"]`) });
    await broken.getByText(/step:pack#1.*step:wrap#1/).waitFor();
    await operation(driver, { label: 'Activate…', title: 'Activate v3', reason: 'the new box' });
    await page.getByRole('alert').getByText('release-breaks').waitFor();
    await page.getByText(/was not activated: it would break callers or open executions/).waitFor();
    assert.equal(await page.getByLabel(/^Reason/).inputValue(), 'the new box');
    await driver.checkAccess('an operation that was refused');
    await driver.shoot('release-refused');
    await page.keyboard.press('Escape');
    await isGone(driver);
    await build(driver, 'v1').getByText('active').waitFor();
  },
};

const findsWhoIsNot: BrowserCase = {
  name: 'a worker that announces a wrong release is shown with the fix',
  async run({ driver, coordinator }) {
    const release = { name: 'v2', digest: 'sha256:forged' };
    const parcel = pipeline({ name: 'parcel', run: () => undefined });
    const worker = await coordinator.worker([parcel], { release, probeMs: 50 });
    await driver.open('/workers', 'Workers');
    const sessions = driver.page.getByRole('region', { name: 'Sessions' });
    await sessions.getByText(/The worker announced release "v2".*sha256:forged/).waitFor();
    await driver.checkAccess('a worker that was refused');
    await worker.stop();
  },
};

const deploys: BrowserCase = {
  name: 'a release is checked, run as a canary, promoted, rolled back, drained and retired',
  async run({ driver, world, coordinator }) {
    const { page } = driver;
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    await driver.open('/releases/parcel?release=v2', 'parcel');
    await driver.button('Preflight…').click();
    await driver.button('Run preflight').click();
    await page.getByText('2 of 2 open executions checked: all compatible.').waitFor();
    await isGone(driver);
    await driver.button('Set canary…').click();
    await page.getByLabel('Percent of new executions').fill('20');
    await page.getByLabel(/^Reason/).fill('a few first');
    await driver.button('Set v2 as canary').click();
    await page
      .getByText(/^20% of new executions go to v2/)
      .first()
      .waitFor();
    await isGone(driver);
    // Another operator acts while this dialog is open.
    await driver.button('Promote…').click();
    await client.releases.change('parcel', { action: 'set-canary', name: 'v2', percent: 30 });
    await page.getByLabel(/^Reason/).fill('all is well');
    await driver.button('Promote v2').click();
    await page.getByRole('alert').getByText('rollout-changed').waitFor();
    await page.keyboard.press('Escape');
    await isGone(driver);
    await page
      .getByText(/^30% of new executions go to v2/)
      .first()
      .waitFor();
    await operation(driver, { label: 'Promote…', title: 'Promote v2', reason: 'all is well' });
    await isGone(driver);
    await page.getByText('New executions go to v2.').first().waitFor();
    await page.getByText('all is well').waitFor();
    await choose(driver, 'v1');
    await page.getByText('2 remaining').waitFor();
    await driver.checkAccess('a release that drains');
    await driver.shoot('release-draining');
    await operation(driver, { label: 'Retire…', title: 'Retire v1', reason: 'too soon' });
    await page.getByRole('alert').getByText('release-pinned').waitFor();
    await page.keyboard.press('Escape');
    await isGone(driver);
    await operation(driver, {
      label: 'Roll back…',
      title: 'Roll back to v1',
      reason: 'second thoughts',
    });
    await isGone(driver);
    await page.getByText('New executions go to v1.').first().waitFor();
    await operation(driver, {
      label: 'Deactivate…',
      title: 'Deactivate v1',
      reason: 'back to any worker',
    });
    await isGone(driver);
    await page.getByText('New executions are not pinned.').first().waitFor();
    await driver.open('/audit', 'Audit log');
    const record = page.getByRole('row').filter({ hasText: 'second thoughts' });
    await record.getByText('Roll back release').waitFor();
    await record.getByRole('link', { name: 'parcel' }).waitFor();
    await client.releases.change('parcel', { action: 'activate', name: 'v2' });
    await empty(driver, client, world.parcels);
  },
};

/** Open executions are repinned or end, then their release can be retired. */
async function empty(
  driver: ConsoleDriver,
  client: HoldfastClient,
  [first = '', second = '']: readonly string[],
): Promise<void> {
  const { page } = driver;
  await driver.open(`/executions/${first}`, 'parcel');
  await page.getByRole('link', { name: 'v1', exact: true }).waitFor();
  await driver.button('Repin…').click();
  await page.getByLabel('To', { exact: true }).selectOption('v2');
  await page.getByLabel(/^Reason/).fill('it cannot wait');
  await driver.checkAccess('repinning an execution');
  await driver.shoot('repin');
  await driver.button('Repin execution').click();
  await isGone(driver);
  await page.getByRole('link', { name: 'v2', exact: true }).waitFor();
  await client.executions.signal(second, 'go', 1);
  await client.executions.result(second);
  await driver.open('/releases/parcel?release=v1', 'parcel');
  await build(driver, 'v1').getByText('drained').waitFor();
  await operation(driver, { label: 'Retire…', title: 'Retire v1', reason: 'it is empty' });
  await build(driver, 'v1').getByText('retired').waitFor();
  await isGone(driver);
  const { items } = await client.releases.log('parcel');
  assert.equal(items[0]?.reason, 'it is empty');
}

export const RELEASE_CASES: readonly BrowserCase[] = [refusesWhatBreaks, findsWhoIsNot, deploys];
