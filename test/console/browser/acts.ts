// What people do with it, by mouse and by keyboard.

import assert from 'node:assert/strict';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { ARCHIVE_CASES } from './archive-acts.ts';
import { HOSTILE_CASES } from './hostile-acts.ts';
import { LARGE_CASES } from './large-acts.ts';
import { READER_CASES } from './reader-acts.ts';
import type { BrowserCase } from './register.ts';
import { RELEASE_CASES } from './release-acts.ts';
import { acceptPayments } from './world.ts';

const answers: BrowserCase = {
  name: 'a question is answered, and the execution goes on before the eyes of whoever looks',
  async run({ desk, world, coordinator }) {
    await desk.open('/inbox', 'Inbox');
    const { page } = desk;
    await page.getByLabel('Assignee', { exact: true }).fill('olga');
    await desk.button('Assign').click();
    await page.getByText('for olga').waitFor();
    await page.getByLabel('note').fill('with thanks');
    await page.getByLabel('yes').check();
    await desk.shoot('answer-form');
    await desk.checkAccess('the form of an answer');
    await desk.button('Answer').click();
    await page.getByText('Nothing is asked now').waitFor();
    await desk.open(`/executions/${world.waiting}`, 'order');
    await page.getByText(/Completed at/).waitFor();
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    const { output } = await client.executions.result(world.waiting);
    assert.deepEqual(output, { shipped: 'boots' });
  },
};

const byLink: BrowserCase = {
  name: 'whoever has a signed link answers without a key, and sees nothing else',
  async run({ desk, coordinator }) {
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    const { id } = await client.executions.submit({
      pipeline: 'order',
      input: { item: 'lamp', asks: 'anything' },
    });
    await desk.open('/inbox', 'Inbox');
    const { page } = desk;
    await page.getByRole('button', { name: /^anything/ }).click();
    await desk.button('Make a link').click();
    const href =
      (await page.getByRole('link', { name: /\/console\/answer\// }).textContent()) ?? '';
    await page.context().clearCookies();
    await page.goto(href);
    await page.getByText('"lamp"').waitFor();
    await desk.checkAccess('the page of a link');
    await desk.shoot('answer-link');
    await page.getByLabel(/^Answer/).fill('{"accepted": tru');
    await desk.button('Answer').click();
    await page.getByRole('alert').waitFor();
    const typed = await page.getByLabel(/^Answer/).inputValue();
    assert.equal(typed, '{"accepted": tru', 'what was typed is still there');
    await page.getByLabel(/^Answer/).fill('{"accepted": true}');
    await desk.button('Answer').click();
    await page.getByText('Thank you: your answer is kept.').waitFor();
    await client.executions.result(id);
    await page.goto(`${coordinator.url}/console/executions`);
    await page.getByLabel('API key').waitFor();
    await desk.shoot('sign-in');
    await desk.checkAccess('signing in');
    await desk.signIn(await coordinator.key(ROLES));
  },
};

const redrives: BrowserCase = {
  name: 'dead letters of one cause are counted, driven again, and leave the list',
  async run({ desk, world }) {
    acceptPayments();
    await desk.open('/dead-letters', 'Dead letters');
    const { page } = desk;
    const cause = page.getByRole('listitem').filter({ hasText: 'declined' });
    await cause.getByRole('button', { name: 'Re-drive all…' }).click();
    await desk.button('Preview count').click();
    await page.getByText('Matches 3 dead letters right now.').waitFor();
    await desk.shoot('redrive-preview');
    await page.getByLabel(/^Reason/).fill('the bank is back');
    await desk.button('Re-drive 3 dead letters').click();
    await desk.heading('redrive of many').waitFor();
    await page.getByText('3 items').waitFor();
    await page.getByText(/^3 /).first().waitFor();
    await desk.checkAccess('a job');
    await desk.shoot('job');
    await desk.open('/dead-letters', 'Dead letters');
    await page.getByText('the bank is back').waitFor();
    await cause.first().waitFor({ state: 'detached' });
    // Whoever comes to one of them later is told, before it is driven again once more.
    await desk.open(`/executions/${world.failed}`, 'payment');
    const facts = page.locator('.facts');
    await facts.getByText('Re-driven as').waitFor();
    await desk.button('Re-drive again…').click();
    await page.getByRole('dialog').getByText('Already re-driven as').waitFor();
    await desk.button('Cancel').click();
    await facts.getByRole('link').click();
    await page.getByText(/Completed at/).waitFor();
  },
};

const filters: BrowserCase = {
  name: 'filters are in the address, can be kept under a name, and survive loading the page again',
  async run({ desk, world }) {
    await desk.open('/executions', 'Executions');
    const { page } = desk;
    const rows = page.getByRole('table', { name: 'Executions' }).getByRole('link');
    await page.getByLabel('compensated').check();
    await page.getByLabel('Search').fill('order total=17');
    await desk.button('Search').click();
    await rows.nth(1).waitFor({ state: 'detached' });
    await rows.nth(0).waitFor();
    const query = new URL(page.url()).searchParams;
    assert.deepEqual(
      [query.get('status'), query.get('pipeline'), query.get('attribute'), query.get('equals')],
      ['compensated', 'order', 'total', '17'],
    );
    await page.reload();
    await rows.nth(1).waitFor({ state: 'detached' });
    await rows.nth(0).waitFor();
    await desk.button('Save view…').click();
    await page.getByLabel('View name').fill('undone');
    await desk.button('Save').click();
    await desk.button('All').click();
    await rows.nth(4).waitFor();
    await desk.button('undone').click();
    await rows.nth(1).waitFor({ state: 'detached' });
    await rows.nth(0).waitFor();
    await page.getByLabel('Search').fill('colour:red');
    await desk.button('Search').click();
    await page.getByText(/Unknown filter/).waitFor();
    await page.getByLabel('Search').fill(world.completed);
    await page.keyboard.press('Enter');
    await page.getByText(/Completed at/).waitFor();
  },
};

const keyboard: BrowserCase = {
  name: 'the keyboard is enough: skip, choose, act, leave',
  async run({ desk, world }) {
    const { page } = desk;
    await desk.open(`/executions/${world.compensated}`, 'order');
    await page.getByText(/Compensated at/).waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to main content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Executions');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Add note…');
    const outline = await page.evaluate<string>(
      'getComputedStyle(document.activeElement).outlineStyle',
    );
    assert.equal(outline, 'solid', 'where the focus is can be seen');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await desk.checkAccess('a dialog');
    await page.keyboard.press('Escape');
    // A dialog that is closed has no role any more, and is there until the page has heard of it.
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
  name: 'what others do appears by itself',
  async run({ desk, coordinator }) {
    await desk.open('/executions?pipeline=nobody-runs-this', 'Executions');
    const { page } = desk;
    await page.getByText('No matching executions').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    await client.executions.submit({ pipeline: 'nobody-runs-this' });
    await page.getByRole('cell', { name: 'nobody-runs-this' }).waitFor();
    await desk.open('/', 'Overview');
    await page.getByLabel('interactive: 1 ready').waitFor();
    await desk.open('/executions?pipeline=nobody-runs-this', 'Executions');
    await desk.button('Cancel matching…').click();
    await desk.button('Preview count').click();
    await page.getByText('Matches 1 open execution right now.').waitFor();
    await desk.button('Cancel 1 execution').click();
    await desk.heading('cancel of many').waitFor();
    await desk.open('/executions?pipeline=nobody-runs-this', 'Executions');
    await page.getByRole('cell', { name: 'cancelled' }).waitFor();
  },
};

/** What a page says where there is nothing yet. */
const EMPTY: readonly (readonly [path: string, heading: string, says: string])[] = [
  ['/executions', 'Executions', 'No executions yet'],
  ['/inbox', 'Inbox', 'Nothing is asked now'],
  ['/dead-letters', 'Dead letters', 'No dead letters are open'],
  ['/quarantine', 'Quarantine', 'Nothing is stuck'],
  ['/releases', 'Releases', 'Nothing was released yet'],
  ['/releases/nothing', 'nothing', 'It has no releases'],
  ['/schedules', 'Schedules', 'Nothing is scheduled'],
  ['/archive', 'Archive', 'Nothing was archived yet'],
  ['/audit', 'Audit log', 'Nothing is on record'],
];

const empty: BrowserCase = {
  name: 'a project with nothing in it says on every page what to do',
  async run({ desk, coordinator }) {
    const { page } = desk;
    await page.context().clearCookies();
    await desk.signIn(await coordinator.key(['operate', 'submit', 'admin'], 'empty'));
    for (const [path, heading, says] of EMPTY) {
      await desk.open(path, heading);
      await page.getByText(says).waitFor();
      await desk.checkAccess(`${path}, empty`);
      await desk.checkWidth(400);
      await desk.shoot(`empty${path.replaceAll('/', '-')}`);
    }
  },
};

const refused: BrowserCase = {
  name: 'what the coordinator refuses is said in its words, and what was typed stays',
  async run({ desk, world, coordinator }) {
    const { page } = desk;
    await page.context().clearCookies();
    await desk.signIn(await coordinator.key(['submit'], 'default'));
    await desk.open(`/executions/${world.completed}`, 'order');
    await page.getByRole('tab', { name: 'Input & output' }).click();
    await page.getByText('"tent"').first().waitFor();
    assert.equal(
      await desk.button('Add note…').count(),
      0,
      'a key that only submits has no such act',
    );
    await desk.open('/audit', 'Audit log');
    await page.getByText(/Requires role operate/).waitFor();
    await desk.button('Sign out').click();
    await page.getByLabel('API key').fill('hf_wrong');
    await desk.button('Sign in').click();
    await page.getByRole('alert').getByText('key-required').waitFor();
    assert.equal(await page.getByLabel('API key').inputValue(), 'hf_wrong');
  },
};

const advises: BrowserCase = {
  name: 'the advisor draws the trade-off, says why, and says what stands against what',
  async run({ desk }) {
    const { page } = desk;
    await desk.open('/workers', 'Leases and workers');
    const panel = page.getByRole('region', { name: 'Which ttl?' });
    await panel.getByText(/^(Open sessions with|Keep) a ttl of/).waitFor();
    await panel.getByRole('img', { name: /each point is one ttl; now .* false losses/ }).waitFor();
    await panel.getByLabel('What matters').selectOption('interactive');
    await panel.getByLabel('they last on average, ms').fill('5000');
    await panel.getByRole('button', { name: 'Advise' }).click();
    await panel.getByText('No ttl keeps every limit.').waitFor();
    await panel.getByText(/A takeover p99 of 15 s needs a ttl of at most/).waitFor();
    await desk.checkAccess('goals that contradict each other');
    await panel.getByLabel('they last on average, ms').fill('100');
    await panel.getByLabel('ttl now, ms').fill('60000');
    await panel.getByRole('button', { name: 'Advise' }).click();
    await panel.getByText(/^Open sessions with a ttl of 1\d s/).waitFor();
    await panel.getByText(/The current settings break a limit/).waitFor();
    await panel.scrollIntoViewIfNeeded();
    for (const theme of ['light', 'dark'] as const) {
      await desk.theme(theme);
      await desk.checkAccess(`the advisor, ${theme}`);
      await desk.shoot(`advisor-${theme}`);
    }
  },
};

export const ACT_CASES: readonly BrowserCase[] = [
  ...[keyboard, filters, ...READER_CASES, live, advises, answers, byLink, redrives],
  ...[...RELEASE_CASES, ...ARCHIVE_CASES, ...HOSTILE_CASES, ...LARGE_CASES, empty, refused],
];
