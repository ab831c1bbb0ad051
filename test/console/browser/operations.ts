// Operations in the console, by mouse and by keyboard.

import assert from 'node:assert/strict';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { ARCHIVE_CASES } from './archive-operations.ts';
import { HOSTILE_CASES } from './hostile-operations.ts';
import { LARGE_CASES } from './large-operations.ts';
import { READER_CASES } from './reader-operations.ts';
import type { BrowserCase } from './register.ts';
import { RELEASE_CASES } from './release-operations.ts';
import { acceptPayments } from './world.ts';

const answers: BrowserCase = {
  name: 'an answer to a question is accepted, and the page shows the execution continue',
  async run({ driver, world, coordinator }) {
    const { page } = driver;
    await driver.open(`/executions/${world.waiting}`, 'order');
    await page.locator('.facts').getByRole('link', { name: '17', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Open the request' }).click();
    await driver.heading('Inbox').waitFor();
    assert.match(page.url(), /await=/);
    await driver.button('Cancel request…').waitFor();
    assert.equal(await driver.button('Extend by 1 day').count(), 0, 'it has no deadline');
    await page.getByLabel('Assignee', { exact: true }).fill('olga');
    await driver.button('Assign').click();
    await page.getByText('Assigned to olga').waitFor();
    await page.getByLabel('note').fill('with thanks');
    await page.getByLabel('yes').check();
    await driver.shoot('answer-form');
    await driver.checkAccess('the form of an answer');
    await driver.button('Submit').click();
    await page.getByText('No open requests').waitFor();
    await driver.open(`/executions/${world.waiting}`, 'order');
    await page.getByText(/Completed at/).waitFor();
    await page.getByRole('tab', { name: 'Activity' }).click();
    await page.getByRole('tabpanel').getByText('Answer', { exact: true }).waitFor();
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    const { output } = await client.executions.result(world.waiting);
    assert.deepEqual(output, { shipped: 'boots' });
  },
};

const byLink: BrowserCase = {
  name: 'a signed link answers without a key and shows nothing else',
  async run({ driver, coordinator }) {
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    const { id } = await client.executions.submit({
      pipeline: 'order',
      input: { item: 'lamp', asks: 'anything' },
    });
    await driver.open('/inbox', 'Inbox');
    const { page } = driver;
    await page.getByRole('button', { name: /lamp/ }).click();
    await driver.button('Create link').click();
    const href =
      (await page.getByRole('link', { name: /\/console\/answer\// }).textContent()) ?? '';
    await page.context().clearCookies();
    await page.goto(href);
    await page.getByText('lamp', { exact: true }).waitFor();
    await driver.checkAccess('the page of a link');
    await driver.shoot('answer-link');
    await driver.button('Submit').click();
    await page.getByText('Type an answer. To send an empty one, type null.').waitFor();
    await page.getByLabel(/^Answer/).fill('{"accepted": tru');
    await driver.button('Submit').click();
    await page.getByRole('alert').waitFor();
    const typed = await page.getByLabel(/^Answer/).inputValue();
    assert.equal(typed, '{"accepted": tru', 'the typed text is still there');
    await page.getByLabel(/^Answer/).fill('{"accepted": true}');
    await driver.button('Submit').click();
    await page.getByText('Thank you. Your answer was saved.').waitFor();
    await client.executions.result(id);
    await page.goto(`${coordinator.url}/console/executions`);
    await page.getByLabel('API key').waitFor();
    await driver.shoot('sign-in');
    await driver.checkAccess('signing in');
    await driver.signIn(await coordinator.key(ROLES));
  },
};

const redrives: BrowserCase = {
  name: 'dead letters of one cause are counted, re-driven, and leave the list',
  async run({ driver, world }) {
    acceptPayments();
    await driver.open('/dead-letters', 'Dead letters');
    const { page } = driver;
    const cause = page.getByRole('listitem').filter({ hasText: 'declined' });
    await cause.getByRole('button', { name: /^Re-drive \d+ dead letters?…$/ }).click();
    await page.getByText('Matches 3 dead letters right now.').waitFor();
    await driver.shoot('redrive-preview');
    await page.getByLabel(/^Reason/).fill('the bank is back');
    await driver.button('Re-drive 3 dead letters').click();
    await driver.heading('Bulk re-drive').waitFor();
    await page.getByText('3 of 3 counted items').waitFor();
    await page.getByText(/^Matching .*code = declined/).waitFor();
    await page.getByText(/^3 /).first().waitFor();
    await driver.checkAccess('a job');
    await driver.shoot('job');
    await driver.open('/jobs', 'Jobs');
    await page.getByText('the bank is back').waitFor();
    await driver.open('/dead-letters', 'Dead letters');
    await page.getByRole('listitem').filter({ hasText: 'bank-closed' }).waitFor();
    await cause.first().waitFor({ state: 'detached' });
    // A later visitor of one of them sees that it was re-driven, before doing it again.
    await driver.open(`/executions/${world.failed}`, 'payment');
    const facts = page.locator('.facts');
    await facts.getByText('Re-driven as').waitFor();
    await driver.button('Re-drive again…').click();
    await page.getByRole('dialog').getByText('Already re-driven as').waitFor();
    await driver.button('Cancel').click();
    await facts.getByRole('link', { name: '…' }).click();
    await page.getByText(/Completed at/).waitFor();
  },
};

const filters: BrowserCase = {
  name: 'filters are in the address and survive a reload',
  async run({ driver, world }) {
    await driver.open('/executions', 'Executions');
    const { page } = driver;
    const rows = page.getByRole('table', { name: 'Executions' }).getByRole('link');
    await page.getByLabel('compensated').check();
    await page.getByLabel('Search').fill('order total>=17 total<=17.5');
    await driver.button('Search').click();
    await rows.nth(1).waitFor({ state: 'detached' });
    await rows.nth(0).waitFor();
    const query = new URL(page.url()).searchParams;
    assert.deepEqual(
      [query.get('status'), query.get('pipeline'), query.getAll('where')],
      ['compensated', 'order', ['total>=17', 'total<=17.5']],
    );
    await page.reload();
    await rows.nth(1).waitFor({ state: 'detached' });
    await rows.nth(0).waitFor();
    await page.getByLabel('Search').fill('colour:red');
    await driver.button('Search').click();
    await page.getByText(/Unknown filter/).waitFor();
    await page.getByLabel('Search').fill(world.completed);
    await page.keyboard.press('Enter');
    await page.getByText(/Completed at/).waitFor();
  },
};

const keyboard: BrowserCase = {
  name: 'the keyboard is enough to skip, choose, act and leave',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.compensated}`, 'order');
    await page.getByText(/Compensated at/).waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to main content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Executions');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'order');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Add note…');
    const outline = await page.evaluate<string>(
      'getComputedStyle(document.activeElement).outlineStyle',
    );
    assert.equal(outline, 'solid', 'where the focus is can be seen');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await driver.checkAccess('a dialog');
    await page.keyboard.press('Escape');
    // A closed dialog has no role any more, and stays in the page until the page handles the event.
    await page.locator('dialog').waitFor({ state: 'detached' });
    assert.equal(await focused(), 'Add note…', 'the focus is back where it was');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('looked at it');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'History' }).focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('tabpanel', { name: 'Activity' }).getByText('looked at it').waitFor();
    assert.equal(await focused(), 'Activity');
  },
};

const live: BrowserCase = {
  name: 'changes by others appear without a reload',
  async run({ driver, coordinator }) {
    await driver.open('/executions?pipeline=nobody-runs-this', 'Executions');
    const { page } = driver;
    await page.getByText('No matching executions').waitFor();
    await page.locator('.liveness-live').waitFor();
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    await client.executions.submit({ pipeline: 'nobody-runs-this' });
    await page.getByRole('cell', { name: 'nobody-runs-this' }).waitFor();
    await driver.open('/', 'Overview');
    await page.getByText('No worker serves nobody-runs-this').waitFor();
    await driver.open('/executions?pipeline=nobody-runs-this', 'Executions');
    await driver.button('Cancel 1 execution…').click();
    await page.getByText('Matches 1 open execution right now.').waitFor();
    await page.getByLabel(/^Reason/).fill('a test');
    await driver.button('Cancel 1 execution').click();
    await driver.heading('Bulk cancel').waitFor();
    await driver.open('/executions?pipeline=nobody-runs-this', 'Executions');
    await page.getByRole('cell', { name: 'cancelled' }).waitFor();
  },
};

/** The text of each page of an empty project. */
const EMPTY: readonly (readonly [path: string, heading: string, expected: string])[] = [
  ['/executions', 'Executions', 'No executions yet'],
  ['/inbox', 'Inbox', 'No open requests'],
  ['/dead-letters', 'Dead letters', 'failed permanently or could not be compensated'],
  ['/quarantine', 'Quarantine', 'Nothing needs attention'],
  ['/releases', 'Releases', 'No releases yet'],
  ['/releases/nothing', 'nothing', 'No releases'],
  ['/schedules', 'Schedules', 'No schedules'],
  ['/archive', 'Archive', 'Archive is empty'],
  ['/audit', 'Audit log', 'No entries'],
];

const empty: BrowserCase = {
  name: 'every page of an empty project explains the first step',
  async run({ driver, coordinator }) {
    const { page } = driver;
    await page.context().clearCookies();
    await driver.signIn(await coordinator.key(['operate', 'submit', 'admin'], 'empty'));
    for (const [path, heading, expected] of EMPTY) {
      await driver.open(path, heading);
      await page.getByText(expected).waitFor();
      await driver.checkAccess(`${path}, empty`);
      await driver.checkWidth(400);
      await driver.shoot(`empty${path.replaceAll('/', '-')}`);
    }
  },
};

const refused: BrowserCase = {
  name: 'refusals of the coordinator are shown in full, and typed text stays',
  async run({ driver, world, coordinator }) {
    const { page } = driver;
    await page.context().clearCookies();
    await driver.signIn(await coordinator.key(['submit'], 'default'));
    await driver.open(`/executions/${world.completed}`, 'order');
    await page.getByRole('tab', { name: 'Input & output' }).click();
    await page.getByText('"tent"').first().waitFor();
    assert.equal(
      await driver.button('Add note…').count(),
      0,
      'a key that only submits has no such operation',
    );
    await driver.open('/audit', 'Audit log');
    await page.getByText(/Requires role operate/).waitFor();
    await driver.button('Sign out').click();
    await page.getByLabel('API key').fill('hf_wrong');
    await driver.button('Sign in').click();
    await page.getByRole('alert').getByText('key-required').waitFor();
    assert.equal(await page.getByLabel('API key').inputValue(), 'hf_wrong');
  },
};

const advises: BrowserCase = {
  name: 'the advisor draws the trade-off, explains it, and names limits that conflict',
  async run({ driver }) {
    const { page } = driver;
    await driver.open('/leases/ttl', 'TTL advisor');
    const panel = page.getByRole('region', { name: 'TTL advisor' });
    await panel.getByText(/^(Recommended: TTL|Keep TTL) /).waitFor();
    await panel
      .getByRole('img', { name: /each point is one TTL; current .* false takeovers/ })
      .waitFor();
    await panel.getByLabel('Optimise for').selectOption('interactive');
    await panel.getByLabel('Mean pause (ms)').fill('5000');
    await panel.getByRole('button', { name: 'Recommend' }).click();
    await panel.getByText('No TTL meets every limit.').waitFor();
    await panel.getByText(/A takeover p99 of 15 s needs a ttl of at most/).waitFor();
    await driver.checkAccess('goals that contradict each other');
    await panel.getByLabel('Mean pause (ms)').fill('100');
    await panel.getByLabel('Current TTL (ms)').fill('60000');
    await panel.getByRole('button', { name: 'Recommend' }).click();
    await panel.getByText(/^Recommended: TTL 1\d s/).waitFor();
    await panel.getByText(/The current settings break a limit/).waitFor();
    await panel.scrollIntoViewIfNeeded();
    for (const theme of ['light', 'dark'] as const) {
      await driver.theme(theme);
      await driver.checkAccess(`the advisor, ${theme}`);
      await driver.shoot(`advisor-${theme}`);
    }
  },
};

export const OPERATION_CASES: readonly BrowserCase[] = [
  ...[keyboard, filters, ...READER_CASES, live, advises, answers, byLink, redrives],
  ...[...RELEASE_CASES, ...ARCHIVE_CASES, ...HOSTILE_CASES, ...LARGE_CASES, empty, refused],
];
