// Choices that a reader makes on a page: how times are shown, and which audit records.

import assert from 'node:assert/strict';
import type { BrowserCase } from './register.ts';

const TOKYO_AHEAD_MS = 9 * 3_600_000;

const times: BrowserCase = {
  name: 'times are shown in the zone of the browser, in UTC, or as a distance from now',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await coordinator.client(['submit', 'operate'], 'default');
    const { id } = await client.executions.submit({ pipeline: 'zoned', key: 'zoned/1' });
    const { submittedAt } = await client.executions.read(id);
    const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 19);
    const utc = clock(Date.parse(submittedAt));
    const tokyo = clock(Date.parse(submittedAt) + TOKYO_AHEAD_MS);
    const session = await page.context().newCDPSession(page);
    const zone = async (timezoneId: string): Promise<unknown> =>
      session.send('Emulation.setTimezoneOverride', { timezoneId });
    try {
      await zone('Asia/Tokyo');
      await driver.open('/executions?key=zoned/1', 'Executions');
      const row = page.getByRole('row').filter({ hasText: 'zoned/1' });
      // Midnight may pass between the two, and then the row shows the day.
      await row.getByText(tokyo.slice(0, 5)).waitFor();
      const choice = page.getByLabel('Times');
      assert.equal(await choice.locator('option:checked').textContent(), 'Asia/Tokyo');
      await choice.selectOption('UTC');
      await row.getByText(utc.slice(0, 5)).waitFor();
      await page.getByLabel('Time range').selectOption('custom');
      const field = await page.getByLabel('Submitted from').inputValue();
      const from = new URL(page.url()).searchParams.get('submittedFrom');
      assert.equal(field, from?.slice(0, 19), 'fields have the chosen zone too');
      await choice.selectOption('Relative');
      await row.getByText(/ ago$/).waitFor();
      const title = (await row.locator('time').getAttribute('title')) ?? '';
      assert.match(title, /UTC · .* ago$/);
      await page.reload();
      await row.getByText(/ ago$/).waitFor();
    } finally {
      await page.getByLabel('Times').selectOption({ index: 0 });
      await zone('');
      await session.detach();
      await client.executions.cancel(id);
    }
  },
};

const audit: BrowserCase = {
  name: 'audit records are filtered by action and by target, and a change is shown in full',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const put = (cron: string): Promise<unknown> =>
      client.schedules.put('audited', { cron, pipeline: 'order', input: {} });
    await put('0 1 * * *');
    await put('0 2 * * *');
    await client.schedules.pause('audited');
    await driver.open('/audit', 'Audit log');
    const rows = page.getByRole('table', { name: 'Audit' }).getByRole('row');
    await page.getByLabel('Action', { exact: true }).selectOption('pause-schedule');
    await rows.filter({ hasText: 'Put schedule' }).first().waitFor({ state: 'detached' });
    await rows.getByRole('link', { name: 'schedule audited' }).click();
    await page.getByText('Only schedule audited').waitFor();
    await rows.filter({ hasText: 'Put schedule' }).nth(1).waitFor();
    assert.equal(await rows.count(), 4, 'the head, two writes and a pause');
    await rows.nth(1).getByRole('button').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('region', { name: 'Before' }).getByText('false').first().waitFor();
    await dialog.getByRole('region', { name: 'After' }).getByText('true').first().waitFor();
    await driver.checkAccess('a change in the audit log');
    await driver.shoot('audit-change');
    await driver.button('Close').click();
    await driver.checkWidth(390, 'audit-filtered');
    await driver.button('Clear filter').click();
    await rows.filter({ hasText: 'Activate release' }).first().waitFor();
    await page.getByLabel('From', { exact: true }).fill('2100-06-01T03:00:00');
    await page.keyboard.press('Enter');
    await page.getByText('No entries').waitFor();
    assert.match(page.url(), /from=2100/);
    await client.schedules.remove('audited');
  },
};

export const CHOICE_CASES: readonly BrowserCase[] = [times, audit];
