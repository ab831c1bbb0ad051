// The execution page: the waterfall, the inspector and the history.

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { Holdfast, pipeline } from '../../../src/index.ts';
import type { BrowserCase } from './register.ts';

function line(page: Page, name: string): Locator {
  return page.locator('.line').filter({ has: page.locator('.line-name', { hasText: name }) });
}

async function extent(bar: Locator): Promise<{ readonly left: number; readonly right: number }> {
  const { x, width } = (await bar.boundingBox()) ?? { x: 0, width: 0 };
  return { left: x, right: x + width };
}

/** Half a second of work is much wider than a pixel of rounding. */
const SAME_PX = 8;

const parallel: BrowserCase = {
  name: 'parallel steps are drawn side by side on a linear axis, attempts with their backoff',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.checkout}`, 'checkout');
    const fraud = await extent(line(page, 'fraud-check').locator('.bar'));
    const tax = await extent(line(page, 'tax-quote').locator('.bar'));
    assert.ok(Math.abs(fraud.left - tax.left) < SAME_PX, 'they start together');
    assert.ok(fraud.right > tax.right + SAME_PX, 'and the longer one ends later');
    const ticks = await page.locator('.tick').allTextContents();
    assert.ok(ticks.length >= 3 && ticks[0] === '0', `labels of the axis: ${ticks.join(', ')}`);
    const reserve = line(page, 'reserve-stock').first();
    assert.equal(await reserve.locator('.bar-failed').count(), 2);
    assert.equal(await reserve.locator('.bar-backoff').count(), 2);
    await reserve.click();
    const inspector = page.getByRole('complementary', { name: 'Inspector' });
    await inspector.getByRole('tab', { name: 'Attempts 3' }).click();
    await inspector.getByText('Stock service timed out.').first().waitFor();
    await inspector.getByText('3 Succeeded').waitFor();
    await inspector.getByRole('tab', { name: 'Output' }).click();
    await inspector.getByText('"r-1"').waitFor();
    await line(page, 'settle').click();
    await inspector.getByText(/StepError: Ledger rejected entry/).waitFor();
  },
};

const fanOut: BrowserCase = {
  name: 'a fan-out is one row with failures first; compensation is its own group',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.checkout}`, 'checkout');
    const group = line(page, 'build-preview');
    await group.getByText('4 ✓').waitFor();
    await group.getByText('2 ✕').waitFor();
    assert.equal(await page.locator('.line-child').count(), 0);
    await group.click();
    await page.locator('.line-child').nth(5).waitFor();
    const bars = page.locator('.line-child .bar');
    assert.match((await bars.nth(0).getAttribute('title')) ?? '', /failed: Unsupported colour/);
    assert.match((await bars.nth(2).getAttribute('title')) ?? '', /Child completed/);
    await page.locator('.line-heading', { hasText: 'Compensation' }).waitFor();
    const undone = page.locator('.line-undo');
    assert.deepEqual(await undone.locator('.line-name').allTextContents(), [
      ...['↶ charge-card', '↶ reserve-stock'],
    ]);
    await undone.nth(1).getByText('not run', { exact: true }).waitFor();
    const history = page.getByRole('table', { name: 'History' });
    const row = history.getByRole('row').filter({ hasText: '↶ charge-card' });
    await row.getByText('Compensation failed').waitFor();
  },
};

const refused: BrowserCase = {
  name: 'a refused write is a row of the waterfall and of the history, with both fences',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.takenOver}`, 'slow');
    const row = page.locator('.line-refused');
    await row.getByText(/frozen@host-2 wrote with fence 1\.\d+, current is 1\.\d+/).waitFor();
    await row.click();
    assert.equal(new URL(page.url()).searchParams.get('event'), 'refused');
    await page.getByText(/The store refused the write, and nothing was changed/).waitFor();
    const history = page.getByRole('table', { name: 'History' });
    await history.getByRole('cell', { name: 'Late write refused' }).waitFor();
    await page.reload();
    await page.getByText(/The store refused the write, and nothing was changed/).waitFor();
  },
};

const address: BrowserCase = {
  name: 'tab, event, range and mode are in the address; the browser title names the execution',
  async run({ driver, world }) {
    const { page } = driver;
    const path = `/executions/${world.checkout}?event=24&range=0-300&history=all&tab=Activity`;
    await driver.open(path, 'checkout');
    assert.match(await page.title(), /^checkout order\/ORD-10084 – Quarantined/);
    await page.getByRole('tab', { name: 'Activity', selected: true }).waitFor();
    await page.getByRole('complementary').getByText('Ledger rejected entry').first().waitFor();
    await driver.button('Reset zoom').waitFor();
    await page.getByRole('tab', { name: 'Related' }).click();
    await page.reload();
    await page.getByRole('tab', { name: 'Related', selected: true }).waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByRole('cell', { name: 'Released while waiting' }).first().waitFor();
    await driver.button('Reset zoom').click();
    await driver.button('Reset zoom').waitFor({ state: 'detached' });
    const track = await page.locator('.axis-track').boundingBox();
    assert.ok(track);
    await page.mouse.move(track.x + 10, track.y + 8);
    await page.mouse.down();
    await page.mouse.move(track.x + track.width / 2, track.y + 8);
    await page.mouse.up();
    await driver.button('Reset zoom').waitFor();
    assert.match(new URL(page.url()).searchParams.get('range') ?? '', /^\d+-\d+$/);
  },
};

const history: BrowserCase = {
  name: 'history has milliseconds, the time between events, worker and detail, and follows the keys',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.checkout}`, 'checkout');
    const table = page.getByRole('table', { name: 'History' });
    const row = table.getByRole('row').filter({ hasText: 'fraud-check' });
    await row.getByText(/^\d\d:\d\d:\d\d\.\d{3}$/).waitFor();
    await row.getByText(/^\+\d+ ms$/).waitFor();
    await row.getByText('shop-2').waitFor();
    await page.getByLabel('Filter events').fill('charge-card');
    await table.getByRole('row').nth(3).waitFor({ state: 'detached' });
    assert.equal(await table.getByRole('row').count(), 3, 'the head, the step, its compensation');
    await page.getByLabel('Filter events').fill('');
    await row.click();
    const before = new URL(page.url()).searchParams.get('event');
    await page.keyboard.press('ArrowDown');
    await page.locator('.event-chosen', { hasText: 'charge-card' }).waitFor();
    assert.notEqual(new URL(page.url()).searchParams.get('event'), before);
    await driver.button('JSON').click();
    await page.getByText('"validate-cart"').first().waitFor();
  },
};

const sleeper: BrowserCase = {
  name: 'a sleep of 14 days reaches to its end, and does not hide the steps before it',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.sleeper}`, 'reminder');
    await line(page, 'two weeks').getByText('14 d', { exact: true }).waitFor();
    const step = await extent(line(page, 'greet').locator('.bar'));
    assert.ok(step.right - step.left > 40, 'idle time is cut short');
    await driver.button('Linear').click();
    assert.equal(new URL(page.url()).searchParams.get('scale'), 'linear');
    const sleep = await extent(line(page, 'two weeks').locator('.bar'));
    const track = await extent(page.locator('.axis-track'));
    assert.ok(track.right - sleep.right < SAME_PX, 'the sleep ends with the axis');
  },
};

const cart = pipeline({
  name: 'cart',
  async run(ctx) {
    const add = await ctx.receive<string>('add', { update: true });
    await ctx.publish('total', { items: [add.value] });
    await add.reply({ place: 1 });
    await (await ctx.receive('add', { update: true })).reject('The cart is full.');
    await ctx.receive('add', { update: true });
    await ctx.receive('pay');
  },
});

const updates: BrowserCase = {
  name: 'updates with their replies, and published values, are shown in plain words',
  async run({ driver, coordinator }) {
    const { page } = driver;
    await using holdfast = new Holdfast({ store: coordinator.store });
    await holdfast.worker({ pipelines: [cart] });
    const { id } = await holdfast.submit(cart, undefined);
    await driver.open(`/executions/${id}?tab=Updates`, 'cart');
    await page.getByText('No updates and no published values').waitFor();
    await holdfast.update(id, { name: 'add', value: 'tent' });
    await holdfast.update(id, { name: 'add', value: 'rope' });
    await holdfast.update(id, { name: 'add', value: 'stove', timeoutMs: 0 });
    const panel = page.getByRole('tabpanel', { name: 'Updates' });
    const values = panel.getByRole('region', { name: 'Published values' });
    await values.getByText('total').first().waitFor();
    await values.getByText('"tent"').waitFor();
    const received = panel.getByRole('region', { name: 'Updates' });
    await received.getByText('No reply yet').waitFor();
    for (const text of ['"tent"', '"rope"', '"stove"', 'place: ']) {
      await received.getByText(text).waitFor();
    }
    await received.getByText(/^Rejected: The cart is full\. at /).waitFor();
    await received.getByText(/^Replied at /).waitFor();
    await driver.checkAccess('updates and published values');
    await driver.shoot('updates');
    await page.getByRole('tab', { name: 'History' }).click();
    for (const title of ['Update received', 'Reply sent', 'Value published']) {
      await page.getByRole('tabpanel').getByText(title).first().waitFor();
    }
    assert.equal(await page.getByRole('tabpanel').getByText('holdfast.').count(), 0);
    await holdfast.signal(id, { name: 'pay' });
    await page.getByText(/Completed at/).waitFor();
    await page.getByRole('tab', { name: 'Updates' }).click();
    await received.getByText('Ended without a reply').waitFor();
  },
};

export const WATERFALL_CASES: readonly BrowserCase[] = [
  ...[parallel, fanOut, refused, address, history, sleeper, updates],
];
