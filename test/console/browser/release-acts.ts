// Deploying, by mouse: looked through, refused, run as a canary, promoted, drained, repinned, retired.

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { pipeline } from '../../../src/index.ts';
import type { Desk } from './desk.ts';
import type { BrowserCase } from './register.ts';

function build(desk: Desk, name: string): Locator {
  return desk.page.getByRole('list', { name: 'Builds' }).getByRole('button', { name });
}

async function choose(desk: Desk, name: string): Promise<void> {
  await build(desk, name).click();
  await desk.page.getByRole('heading', { level: 2, name, exact: true }).waitFor();
}

/** The dialog of an act, filled in and sent. */
async function act(
  desk: Desk,
  { label, title, reason }: { readonly label: string; readonly title: string; reason: string },
): Promise<void> {
  await desk.button(label).click();
  await desk.page.getByLabel(/^Reason/).fill(reason);
  await desk.button(title).click();
}

async function isGone(desk: Desk): Promise<void> {
  await desk.page.locator('dialog').waitFor({ state: 'detached' });
}

const refusesWhatBreaks: BrowserCase = {
  name: 'a release that would break something says what, at which step, and is not activated',
  async run({ desk, world }) {
    const { page } = desk;
    await desk.open('/releases', 'Releases');
    await page.getByRole('link', { name: 'parcel' }).click();
    await desk.heading('parcel').waitFor();
    await choose(desk, 'v3');
    await page.getByText('It breaks those who keep to what is active.').waitFor();
    await page.getByText('2 of 2 open would break.').waitFor();
    const [id = ''] = world.parcels;
    const broken = page.getByRole('listitem').filter({ has: page.locator(`a[title="${id}"]`) });
    await broken.getByText(/step:pack#1.*step:wrap#1/).waitFor();
    await act(desk, { label: 'Activate…', title: 'Activate v3', reason: 'the new box' });
    await page.getByRole('alert').getByText('release-breaks').waitFor();
    await page.getByText(/was not activated: it would break something/).waitFor();
    assert.equal(await page.getByLabel(/^Reason/).inputValue(), 'the new box');
    await desk.checkAccess('an act that was refused');
    await desk.shoot('release-refused');
    await page.keyboard.press('Escape');
    await isGone(desk);
    await build(desk, 'v1').getByText('active').waitFor();
  },
};

const findsWhoIsNot: BrowserCase = {
  name: 'a worker that is not the release it says is found, with what to do about it',
  async run({ desk, coordinator }) {
    const release = { name: 'v2', digest: 'sha256:forged' };
    const parcel = pipeline({ name: 'parcel', run: () => undefined });
    const worker = await coordinator.worker([parcel], { release, probeMs: 50 });
    await desk.open('/workers', 'Leases and workers');
    const sessions = desk.page.getByRole('region', { name: 'Sessions' });
    await sessions.getByText(/It says that it is release "v2".*sha256:forged/).waitFor();
    await desk.checkAccess('a worker that was refused');
    await worker.stop();
  },
};

const deploys: BrowserCase = {
  name: 'a release is looked through, run as a canary, promoted, rolled back, drained and retired',
  async run({ desk, world, coordinator }) {
    const { page } = desk;
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    await desk.open('/releases/parcel?release=v2', 'parcel');
    await desk.button('Preflight…').click();
    await desk.button('Replay them').click();
    await page.getByText('None of 2 open would break.').waitFor();
    await isGone(desk);
    await desk.button('Set canary…').click();
    await page.getByLabel('Percent of new executions').fill('20');
    await page.getByLabel(/^Reason/).fill('a few first');
    await desk.button('Set v2 as canary').click();
    await page
      .getByText(/^20% of new executions go to v2/)
      .first()
      .waitFor();
    await isGone(desk);
    // Somebody else acts while this one thinks.
    await desk.button('Promote…').click();
    await client.releases.change('parcel', { act: 'set-canary', name: 'v2', percent: 30 });
    await page.getByLabel(/^Reason/).fill('all is well');
    await desk.button('Promote v2').click();
    await page.getByRole('alert').getByText('rollout-changed').waitFor();
    await page.keyboard.press('Escape');
    await isGone(desk);
    await page
      .getByText(/^30% of new executions go to v2/)
      .first()
      .waitFor();
    await act(desk, { label: 'Promote…', title: 'Promote v2', reason: 'all is well' });
    await isGone(desk);
    await page.getByText('New executions go to v2.').first().waitFor();
    await page.getByText('all is well').waitFor();
    await choose(desk, 'v1');
    await page.getByText('2 executions to go').waitFor();
    await desk.checkAccess('a release that drains');
    await desk.shoot('release-draining');
    await act(desk, { label: 'Retire…', title: 'Retire v1', reason: 'too soon' });
    await page.getByRole('alert').getByText('release-pinned').waitFor();
    await page.keyboard.press('Escape');
    await isGone(desk);
    await act(desk, { label: 'Roll back…', title: 'Roll back', reason: 'second thoughts' });
    await isGone(desk);
    await page.getByText('New executions go to v1.').first().waitFor();
    await act(desk, { label: 'Deactivate…', title: 'Deactivate v1', reason: 'back to any worker' });
    await isGone(desk);
    await page.getByText('New executions are pinned to nothing.').first().waitFor();
    await client.releases.change('parcel', { act: 'activate', name: 'v2' });
    await empty(desk, client, world.parcels);
  },
};

/** What is open is repinned, or ends; then its release goes. */
async function empty(
  desk: Desk,
  client: HoldfastClient,
  [first = '', second = '']: readonly string[],
): Promise<void> {
  const { page } = desk;
  await desk.open(`/executions/${first}`, 'parcel');
  await page.getByRole('link', { name: 'v1', exact: true }).waitFor();
  await desk.button('Repin…').click();
  await page.getByLabel('To', { exact: true }).selectOption('v2');
  await page.getByLabel(/^Reason/).fill('it cannot wait');
  await desk.checkAccess('repinning an execution');
  await desk.shoot('repin');
  await desk.button('Repin execution').click();
  await isGone(desk);
  await page.getByRole('link', { name: 'v2', exact: true }).waitFor();
  await client.executions.signal(second, 'go', 1);
  await client.executions.result(second);
  await desk.open('/releases/parcel?release=v1', 'parcel');
  await build(desk, 'v1').getByText('drained').waitFor();
  await act(desk, { label: 'Retire…', title: 'Retire v1', reason: 'it is empty' });
  await build(desk, 'v1').getByText('retired').waitFor();
  await isGone(desk);
  const { items } = await client.releases.log('parcel');
  assert.equal(items[0]?.reason, 'it is empty');
}

export const RELEASE_CASES: readonly BrowserCase[] = [refusesWhatBreaks, findsWhoIsNot, deploys];
