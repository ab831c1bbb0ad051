// The inbox shows what is asked, and answers several requests at once; causes of dead letters have one
// severity.

import assert from 'node:assert/strict';
import { Holdfast, pipeline, question, type Schema } from '../../../src/index.ts';
import { until } from '../../server/coordinator.ts';
import type { BrowserCase } from './register.ts';

interface Verdict {
  readonly granted: boolean;
}

const VERDICT: Schema<Verdict> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value: value as Verdict }),
    ...{
      jsonSchema: {
        input: () => ({
          type: 'object',
          properties: { granted: { type: 'boolean', title: 'Grant the expense' } },
          required: ['granted'],
        }),
      },
    },
  },
};

const verdict = question({ name: 'verdict', schema: VERDICT });

const HOUR_MS = 3_600_000;
/** The requests of one page of the inbox. */
const PAGE = 100;

const expense = pipeline({
  name: 'expense',
  awaits: [verdict],
  async run(ctx, { who, amount, hours }: { who: string; amount: number; hours: number }) {
    const answer = await ctx.await(verdict, {
      request: { who, amount },
      timeoutMs: hours * HOUR_MS,
    });
    return answer.kind;
  },
});

const asks: BrowserCase = {
  name: 'requests show what they ask, by due date, and several get one answer',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    await holdfast.worker({ pipelines: [expense], owner: 'clerk@host-6' });
    const late = await holdfast.submit(expense, { who: 'ben', amount: 80, hours: 48 });
    const soon = await holdfast.submit(expense, { who: 'ann', amount: 120, hours: 1 });
    await until(async () => {
      const { items } = await holdfast.awaits.list({ name: 'verdict' });
      return items.length === 2 ? items : undefined;
    });
    await driver.open('/inbox', 'Inbox');
    const group = page.getByRole('region', { name: 'verdict of expense' });
    const cards = group.locator('.choice-card strong');
    await cards.nth(1).waitFor();
    assert.deepEqual(await cards.allTextContents(), [
      'Who: ann · Amount: 120',
      'Who: ben · Amount: 80',
    ]);
    await group.getByText(/due in (59|1)/).waitFor();
    await group.getByText('Who: ann').click();
    await driver.button('Extend by 1 day').click();
    await group.getByText(/due in 1 d( 1 h)?$/).waitFor();
    await group.getByLabel('Select Who: ann · Amount: 120').check();
    await group.getByLabel('Select Who: ben · Amount: 80').check();
    await driver.button('Answer 2 requests…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('yes').check();
    await driver.checkAccess('a bulk answer');
    await dialog.getByRole('button', { name: 'Submit' }).click();
    await page.locator('.toast').getByText('2 requests answered').waitFor();
    await Promise.all([late.result(), soon.result()]);
    await group.waitFor({ state: 'detached' });
    await holdfast.close();
  },
};

const many: BrowserCase = {
  name: 'the inbox orders and counts requests in the store, also those of pages that were not read',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    await holdfast.worker({ pipelines: [expense], owner: 'clerk@host-6', concurrency: 32 });
    const first = await holdfast.submit(expense, { who: 'soonest', amount: 1, hours: 1 });
    await until(async () => {
      const { count } = await holdfast.awaits.count({ name: 'verdict' });
      return count === 1 ? true : undefined;
    });
    const others = await Promise.all(
      Array.from({ length: PAGE }, (_, n) =>
        holdfast.submit(expense, { who: `later-${n}`, amount: n, hours: 48 }),
      ),
    );
    const { count } = await until(async () => {
      const open = await holdfast.awaits.count();
      const own = await holdfast.awaits.count({ name: 'verdict' });
      return own.count === PAGE + 1 ? open : undefined;
    });
    await driver.open('/inbox', 'Inbox');
    await page.locator('.page-head').getByText(`${count} open requests`).waitFor();
    const group = page.getByRole('region', { name: 'verdict of expense' });
    const cards = group.locator('.choice-card strong');
    await cards.nth(PAGE - 1).waitFor();
    assert.equal(await cards.count(), PAGE);
    assert.equal(await cards.first().textContent(), 'Who: soonest · Amount: 1');
    await group.getByText(`expense · ${PAGE}+`).waitFor();
    await driver.button('Load more').click();
    await group.getByText(`expense · ${PAGE + 1}`, { exact: true }).waitFor();
    for (const { id } of [first, ...others]) await holdfast.cancel(id);
    await holdfast.close();
  },
};

const countersign = pipeline({
  name: 'countersign',
  async run(ctx, bank: string) {
    const concurrency = { key: bank, limit: 1 };
    return (await ctx.await('countersign', { request: bank, concurrency })).kind;
  },
});

const slots: BrowserCase = {
  name: 'the inbox lists requests that wait for a slot, and asks them in turn',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    await holdfast.worker({ pipelines: [countersign], owner: 'clerk@host-6' });
    const first = await holdfast.submit(countersign, 'bank-7');
    const asked = (filter: { readonly open?: boolean; readonly queued?: boolean }) =>
      until(async () => {
        const { items } = await holdfast.awaits.list({ ...filter, name: 'countersign' });
        return items[0];
      });
    const { id } = await asked({ open: true });
    const second = await holdfast.submit(countersign, 'bank-7');
    await asked({ queued: true });
    await driver.open('/inbox', 'Inbox');
    const waiting = page.getByRole('region', { name: 'Waiting for a slot' });
    await waiting.getByText('countersign · key bank-7, at most 1 open').waitFor();
    assert.equal(await waiting.getByRole('listitem').count(), 1);
    await driver.checkAccess('the requests that wait for a slot');
    await holdfast.awaits.answer(id, 'yes');
    await waiting.waitFor({ state: 'detached' });
    await page.getByRole('region', { name: 'countersign of countersign' }).waitFor();
    await holdfast.awaits.answer({ execution: second.id, name: 'countersign' }, 'yes');
    assert.deepEqual([await first.result(), await second.result()], ['answered', 'answered']);
    await holdfast.close();
  },
};

const causes: BrowserCase = {
  name: 'causes of dead letters have the colour of a failure, and show their share',
  async run({ driver }) {
    const { page } = driver;
    await driver.open('/dead-letters', 'Dead letters');
    const bar = page.locator('.share-bad').first();
    await bar.waitFor();
    assert.equal(await page.locator('meter').count(), 0, 'a native meter is green when it is full');
    const colours = await page.evaluate<readonly string[]>(`[
      getComputedStyle(document.querySelector('.share-bad')).backgroundColor,
      getComputedStyle(document.querySelector('.nav-count-bad')).backgroundColor,
    ]`);
    assert.equal(colours[0], colours[1], 'one scale');
  },
};

export const INBOX_CASES: readonly BrowserCase[] = [asks, many, slots, causes];
