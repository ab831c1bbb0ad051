// Several people use the console at once: changes of others must not redirect an operation.

import assert from 'node:assert/strict';
import { ended, letter } from '../../../contract/execution/repair/repairing.ts';
import { worker } from '../../../contract/execution/worker.ts';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { Holdfast, pipeline, StepError } from '../../../src/index.ts';
import { until } from '../../server/coordinator.ts';
import type { BrowserCase, Scene } from './register.ts';

async function clientOf({ coordinator }: Pick<Scene, 'coordinator'>): Promise<HoldfastClient> {
  return new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
}

/** An execution that asks a question, and the id of its interaction. */
async function asking(client: HoldfastClient, item: string): Promise<readonly [string, string]> {
  const input = { item, asks: 'anything' };
  const { id } = await client.executions.submit({ pipeline: 'order', input });
  for (;;) {
    const { items } = await client.awaits.list({ execution: id });
    const [asked] = items;
    if (asked !== undefined) return [id, asked.id];
  }
}

const keepsQuestion: BrowserCase = {
  name: 'the open question stays while other questions come and go',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await clientOf({ coordinator });
    const [, first] = await asking(client, 'kettle');
    await driver.open('/inbox', 'Inbox');
    const question = page.getByRole('region', { name: 'Selected request' });
    await page.getByRole('button', { name: /kettle/ }).click();
    await question.getByText('"kettle"').waitFor();
    await question.getByLabel(/^Answer/).fill('"half an ans');
    const [, second] = await asking(client, 'spoon');
    await page
      .locator('#main')
      .getByText(/^3 open requests/)
      .waitFor();
    await question.getByText('"kettle"').waitFor();
    assert.equal(await question.getByLabel(/^Answer/).inputValue(), '"half an ans');
    await client.awaits.answer(first, 'somebody else was faster');
    await question.getByText('No longer open').waitFor();
    assert.equal(await driver.button('Submit').count(), 0, 'no other question can be answered');
    await driver.checkAccess('a question that is over');
    await driver.button('Next request').click();
    await page.getByRole('button', { name: /spoon/ }).click();
    await question.getByText('"spoon"').waitFor();
    await question.getByLabel(/^Answer/).fill('"mine"');
    await driver.button('Submit').click();
    await page.getByText('Answer saved.').waitFor();
    const { answer } = await client.awaits.read(second);
    assert.equal(answer?.value, 'mine');
    await asking(client, 'fork');
    await page.getByRole('button', { name: /fork/ }).click();
    await question.getByText('"fork"').waitFor();
    await driver.button('Create link').click();
    const link = page.getByRole('link', { name: /\/console\/answer\// });
    const href = (await link.textContent()) ?? '';
    await driver.button('Cancel request…').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel request' }).click();
    await page.getByText('Request cancelled.').waitFor();
    await page.goto(href);
    await page.getByText('This request was cancelled or has expired.').waitFor();
  },
};

const RETRY = ['Retry', 'compensation'] as const;
const REDRIVE = ['Re-drive', 'execution'] as const;

const neverMore: BrowserCase = {
  name: 'a bulk re-drive has the filters and the count of the list, and leaves out what was re-driven',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    const { items } = await client.executions.list({ status: ['failed'], redriven: false });
    const [first] = items;
    assert.ok(first !== undefined && items.length > 1);
    await client.executions.redrive(first.id);
    const lists = [
      ['status=quarantined', { status: ['quarantined'] }],
      ['status=failed', { status: ['failed'] }],
      [
        'status=failed&tag=planted&where=total%3E%3D17',
        { status: ['failed'], where: ['total>=17'] },
      ],
      ['status=failed&status=quarantined', { status: ['failed', 'quarantined'] }],
    ] as const;
    for (const [query, filter] of lists) {
      const { count } = await client.executions.count({ ...filter, redriven: false });
      await driver.open(`/executions?${query}`, 'Executions');
      const [verb, one] = query === 'status=quarantined' ? RETRY : REDRIVE;
      const label = `${verb} ${count} ${one}${count === 1 ? '' : 's'}…`;
      if (count === 0) {
        await page.getByText(/executions? ·/).waitFor();
        assert.equal(await page.getByRole('button', { name: /^Re-drive \d/ }).count(), 0, query);
        continue;
      }
      await driver.button(label).click();
      await page.getByText(new RegExp(`Matches ${count} dead letters? right now.`)).waitFor();
      await driver.button('Cancel').click();
    }
    await driver.open('/executions?status=failed&redriven=true', 'Executions');
    await page.getByRole('table', { name: 'Executions' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Re-drive \d/ }).count(), 0);
  },
};

const searchesFurther: BrowserCase = {
  name: 'compensations beyond the first page are not reported as none',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    const late = new Holdfast({ store: coordinator.store });
    const pages = /\/v1\/executions\?status=waiting&limit=\d+/;
    try {
      await holdfast.worker({ pipelines: [sticky] });
      const { id } = await holdfast.submit(sticky, undefined);
      await until(async () => {
        const { status, compensating } = (await holdfast.read(id)) ?? {};
        return status === 'waiting' && compensating ? true : undefined;
      });
      // Newer than it, so that a page of one does not have it.
      const sleeps = pipeline({ name: 'sleeps', run: (ctx) => ctx.sleep(3_600_000) });
      await late.worker({ pipelines: [sleeps] });
      const sleeping = await late.submit(sleeps, undefined);
      await until(async () =>
        (await late.read(sleeping.id))?.status === 'waiting' ? true : undefined,
      );
      await page.route(pages, (route) =>
        route.continue({
          url: route
            .request()
            .url()
            .replace(/limit=\d+/, 'limit=1'),
        }),
      );
      await driver.open('/quarantine', 'Quarantine');
      const group = page.getByRole('region', { name: 'Compensation retrying' });
      const further = group.getByRole('button', { name: 'Search older' });
      await further.waitFor();
      const found = group.getByText('sticky');
      assert.equal(await found.count(), 0);
      await driver.checkAccess('a quarantine that was not looked through');
      await further.click();
      await found.waitFor();
      await holdfast.cancel(sleeping.id);
      await holdfast.repair.skipCompensation(id, 'charge', { reason: 'a test' });
      await holdfast.result(id).catch(() => undefined);
    } finally {
      await page.unroute(pages);
      await late.close();
      await holdfast.close();
    }
  },
};

const quarantineInBulk: BrowserCase = {
  name: 'the quarantine shows keys, reasons and the repair, and repairs many at once',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    let isFixed = false;
    const invoice = pipeline({
      name: 'invoice',
      async run(ctx, isUndone: boolean) {
        const undo = (): void => {
          if (!isFixed) throw new StepError('The ledger is closed.', CLOSED);
        };
        await ctx.step('book', () => 1, { compensate: { run: undo, retry: { attempts: 1 } } });
        if (isUndone) throw new StepError('No customer.', { category: 'permanent', code: 'none' });
        if (!isFixed) throw new TypeError('Cannot read properties of undefined.');
        return 'sent';
      },
    });
    try {
      await holdfast.worker({ pipelines: [invoice], owner: 'invoice@host-7' });
      for (const n of [1, 2]) await holdfast.submit(invoice, true, { key: `undone/${n}` });
      for (const n of [1, 2]) await holdfast.submit(invoice, false, { key: `blocked/${n}` });
      await driver.open('/quarantine', 'Quarantine');
      const parked = page.getByRole('region', { name: 'Quarantined' });
      const card = parked.getByRole('listitem').filter({ hasText: 'undone/2' });
      await card.getByText('The ledger is closed.').waitFor();
      const blocked = page.getByRole('region', { name: 'Blocked' });
      const held = blocked.getByRole('listitem').filter({ hasText: 'blocked/1' });
      await held.getByText(/TypeError: Cannot read properties of undefined.*Deploy/).waitFor();
      await driver.checkAccess('a quarantine with reasons');
      await driver.checkWidth(390, 'quarantine-reasons');
      isFixed = true;
      await blocked.getByRole('button', { name: 'Resume 2 executions…' }).click();
      await driver.button('Resume 2 executions').click();
      await page.getByText('2 executions resumed').waitFor();
      await blocked.waitFor({ state: 'detached' });
      const all = parked.getByRole('button', {
        name: /^Retry 2 compensations: invoice/,
      });
      await all.click();
      await driver.button('Retry 2 compensations').click();
      await driver.heading('Bulk re-drive').waitFor();
      await driver.open('/quarantine', 'Quarantine');
      await card.waitFor({ state: 'detached' });
      // A key finds the execution that has it, and its re-drive.
      await driver.open('/executions?q=undone/2', 'Executions');
      const rows = page.getByRole('table', { name: 'Executions' }).getByRole('row');
      await page.getByText('2 executions').waitFor();
      await rows.filter({ hasText: 're-drive' }).getByRole('link', { name: 'undone/2' }).click();
      await driver.heading('invoice').waitFor();
      await page.locator('.page-title').getByText('undone/2').waitFor();
    } finally {
      await holdfast.close();
    }
  },
};

const crashed: BrowserCase = {
  name: 'an execution that ended its workers has the re-drive that its banner names',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const { store } = coordinator;
    const id = await ended(store, await worker(store), {
      status: 'quarantined',
      deadLetter: letter({ code: 'poison', reason: 'The last 5 claims recorded nothing.' }),
    });
    await driver.open(`/executions/${id}`, 'orders');
    await page.getByText(/Fix the cause, then re-drive\./).waitFor();
    await driver.button('Re-drive…').waitFor();
    await driver.open('/quarantine', 'Quarantine');
    const card = page.getByRole('listitem').filter({ hasText: 'orders' });
    await card.getByRole('button', { name: 'Re-drive…', exact: true }).click();
    await driver.button('Re-drive execution').click();
    await driver.heading('orders').waitFor();
    await page.getByText(/waiting for a worker/).waitFor();
  },
};

const aftermath: BrowserCase = {
  name: 'a bulk re-drive shows what became of its executions, and each shows who re-drove it',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    const fails = (): never => {
      throw new StepError('The carrier returned 500.', { category: 'permanent', code: 'carrier' });
    };
    const freight = pipeline({ name: 'freight', run: (ctx) => ctx.step('book', fails) });
    try {
      await holdfast.worker({ pipelines: [freight], owner: 'freight@host-8' });
      for (const n of [1, 2]) {
        const { id } = await holdfast.submit(freight, undefined, { key: `freight/${n}` });
        await holdfast.result(id).catch(() => undefined);
      }
      await driver.open('/dead-letters', 'Dead letters');
      const cause = page.getByRole('listitem').filter({ hasText: 'carrier' });
      await cause.getByRole('button', { name: /^Re-drive \d+ dead letters?…$/ }).click();
      await page.getByLabel(/^Reason/).fill('the carrier said so');
      await driver.button('Re-drive 2 dead letters').click();
      await driver.heading('Bulk re-drive').waitFor();
      await page.getByText('2 of 2 executions failed again.').waitFor();
      await driver.checkAccess('a job whose executions failed again');
      await driver.checkWidth(390, 'job-failed-again');
      const items = page.getByRole('table', { name: 'Items' }).getByRole('row');
      await items.getByText('Failed', { exact: true }).first().waitFor();
      await driver.open('/executions?key=freight/1', 'Executions');
      await page.getByText('2 executions').waitFor();
      await page.getByRole('link', { name: 'freight/1' }).last().click();
      await page.getByRole('tab', { name: 'Activity' }).click();
      const lines = page.getByRole('tabpanel').getByRole('listitem');
      const redriven = lines.filter({ hasText: 'Re-driven as' });
      await redriven.getByText('the carrier said so').waitFor();
      await redriven.getByRole('link').click();
      await page.getByRole('tab', { name: 'Activity' }).click();
      await lines.filter({ hasText: 'Re-drive of' }).getByText('the carrier said so').waitFor();
    } finally {
      await holdfast.close();
    }
  },
};

const CLOSED = { category: 'permanent', code: 'ledger-closed' } as const;

const STREAM = /\/v1\/events$/;

const comesBack: BrowserCase = {
  name: 'a page becomes live again after a proxy error, and pauses while it is hidden',
  async run({ driver, coordinator }) {
    const { page } = driver;
    let refusals = 0;
    await page.route(STREAM, (route) => {
      refusals += 1;
      return refusals > 2 ? route.continue() : route.fulfill({ status: 502, body: 'Bad gateway' });
    });
    const isStream = (sent: { url(): string }): boolean => STREAM.test(sent.url());
    // The stream of the page before may still get its response.
    const streams = page.waitForResponse(
      (each) => refusals > 2 && isStream(each) && each.status() === 200,
    );
    await driver.open('/executions?pipeline=late', 'Executions');
    await streams;
    await page.unroute(STREAM);
    const closed = page.waitForEvent('requestfailed', isStream);
    await page.evaluate(tabIs('hidden'));
    await closed;
    const client = await clientOf({ coordinator });
    const { id } = await client.executions.submit({ pipeline: 'late' });
    const opened = page.waitForRequest(isStream);
    await page.evaluate(tabIs('visible'));
    await opened;
    await page.getByRole('cell', { name: 'late' }).waitFor();
    await client.executions.cancel(id);
  },
};

/** Fires the event that a browser sends when a tab comes to the front or goes to the back. */
function tabIs(state: 'visible' | 'hidden'): string {
  return `Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`;
}

const asAllowed: BrowserCase = {
  name: 'operations that a key may not do are not offered, and a refused page names the role it needs',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const as = async (key: string): Promise<readonly string[]> => {
      await page.context().clearCookies();
      await page.goto(`${driver.url}/console/nowhere`);
      await page.getByLabel('API key').fill(key);
      await driver.button('Sign in').click();
      await driver.heading('Not found').waitFor();
      return page.locator('.nav-title').allTextContents();
    };
    const asking = await as(await coordinator.key(['submit'], 'default'));
    assert.ok(asking.includes('Inbox') && asking.includes('Archive'), asking.join());
    assert.ok(
      !asking.includes('Audit log') && !asking.includes('Projects & API keys'),
      asking.join(),
    );
    await driver.open('/workers', 'Workers');
    await page.getByText('Requires role operate; your key has submit.').waitFor();
    await driver.checkAccess('a page that a key does not open');
    await driver.open('/inbox', 'Inbox');
    await page.getByText('Answering requires the operate role').waitFor();
    assert.equal(await driver.button('Submit').count(), 0);
    const keeping = await as(await coordinator.key(['admin'], 'default'));
    assert.deepEqual(keeping, ['Releases', 'Projects & API keys']);
    await driver.open('/access', 'Projects & API keys');
    assert.equal(await driver.button('New project…').count(), 0, 'only for keys of all projects');
    await coordinator.key(['submit'], 'bakery');
    await as(await coordinator.key(['operate']));
    await page.getByLabel('Project').selectOption('bakery');
    await driver.open('/executions', 'Executions');
    await page.getByText('No executions yet').waitFor();
    await page.getByLabel('Project').selectOption('default');
    await as(await coordinator.key(ROLES));
  },
};

const backNavigation: BrowserCase = {
  name: 'the back button follows the chosen filters, and typing keeps the focus',
  async run({ driver }) {
    const { page } = driver;
    const search = page.getByLabel('Search');
    const chosen = (): string => new URL(page.url()).search;
    await driver.open('/executions', 'Executions');
    await page.getByLabel('failed').check();
    await search.fill('tag:"two words"');
    await search.press('Enter');
    await page.getByText('No matching executions').waitFor();
    assert.equal(new URL(page.url()).searchParams.get('tag'), 'two words');
    assert.equal(await search.inputValue(), 'tag:"two words"');
    assert.ok(await search.evaluate((each) => each === each.ownerDocument.activeElement));
    await page.goBack();
    await page.waitForURL(/status=failed$/);
    assert.equal(await search.inputValue(), '');
    await page.goBack();
    await page.waitForURL(/\/executions$/);
    assert.equal(await page.getByLabel('failed').isChecked(), false);
    await page.goForward();
    await page.waitForURL(/status=failed$/);
    assert.equal(await page.getByLabel('failed').isChecked(), true);
    await page.getByRole('link', { name: 'Audit log' }).click();
    await driver.heading('Audit log').waitFor();
    const focused = await page.evaluate<string>('document.activeElement.id');
    assert.equal(focused, 'main', 'a screen reader continues at the top of the new page');
    assert.equal(chosen(), '');
  },
};

const brokenPage: BrowserCase = {
  name: 'a missing page, an unknown execution and a malformed response are explained',
  async run({ driver }) {
    const { page } = driver;
    await driver.open('/executions/01a1e2b7-c7bd-7000-89b3-d292ab500000', 'Execution');
    await page.getByText('is not known to this store').waitFor();
    await driver.checkAccess('an execution that is not known');
    await page.route('**/v1/schedules?*', (route) => route.fulfill({ json: { items: [{}] } }));
    await driver.open('/schedules', 'Schedules');
    await page.getByText('Something went wrong on this page').waitFor();
    await driver.checkAccess('a page that could not be drawn');
    await page.unroute('**/v1/schedules?*');
    await page.getByRole('link', { name: 'Inbox' }).click();
    await driver.heading('Inbox').waitFor();
    driver.checkTrouble(/TypeError/);
  },
};

const sticky = pipeline({
  name: 'sticky',
  async run(ctx) {
    const undo = (): never => {
      throw new StepError('The bank is busy.', { category: 'retryable', code: 'busy' });
    };
    const retry = { attempts: 9, initialMs: 3_600_000, maxMs: 3_600_000 };
    await ctx.step('charge', () => 'charged', { compensate: { run: undo, retry } });
    throw new StepError('No stock.', { category: 'permanent', code: 'no-stock' });
  },
});

const leavesOut: BrowserCase = {
  name: 'a waiting compensation is tried now or skipped, by its step and with a reason',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    try {
      await holdfast.worker({ pipelines: [sticky] });
      const { id } = await holdfast.submit(sticky, undefined);
      await driver.open('/quarantine', 'Quarantine');
      const group = page.getByRole('region', { name: 'Compensation retrying' });
      await group.getByRole('button', { name: 'Retry now…' }).waitFor();
      await group.getByRole('link').first().click();
      await driver.heading('sticky').waitFor();
      await driver.button('Skip…').click();
      const step = page.getByLabel('Step', { exact: true });
      await page.locator('datalist option').first().waitFor({ state: 'attached' });
      assert.equal(await step.inputValue(), 'charge');
      await driver.checkAccess('leaving a compensation out');
      await page.getByLabel('Reason').fill('paid back by hand');
      await driver.button('Skip').click();
      await page.getByText(/Compensated at/).waitFor();
      assert.match(page.url(), new RegExp(id));
      await driver.open('/quarantine', 'Quarantine');
      await group.waitFor({ state: 'detached' });
    } finally {
      await holdfast.close();
    }
  },
};

/** The counts in the heads of pages, and the requests they come from. */
const COUNTED: readonly (readonly [path: string, heading: string, reads: string | RegExp])[] = [
  ['/', 'Overview', /\/v1\/(overview|trends)/],
  ['/executions', 'Executions', '**/v1/executions?*'],
  ['/inbox', 'Inbox', /\/v1\/awaits/],
  ['/dead-letters', 'Dead letters', '**/v1/dead-letters/groups?*'],
  ['/releases', 'Releases', '**/v1/pipelines?*'],
  ['/schedules', 'Schedules', '**/v1/schedules?*'],
  ['/archive', 'Archive', '**/v1/archive?*'],
];

const notYet: BrowserCase = {
  name: 'counts show a placeholder until they are loaded',
  async run({ driver }) {
    const { page } = driver;
    for (const [path, heading, reads] of COUNTED) {
      const arrives = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      await page.route(reads, async (route) => {
        asked.resolve();
        await arrives.promise;
        await route.continue();
      });
      await driver.open(path, heading);
      await asked.promise;
      const head = await page.locator('.page-head .about, .figures, .attention').allInnerTexts();
      assert.doesNotMatch(head.join('\n'), /\b0\b|Nothing/, path);
      arrives.resolve();
      await page.locator('.page-head .about, .figures').getByText(/\d/).first().waitFor();
      await page.unroute(reads);
    }
  },
};

const ROWS = 40;

const stays: BrowserCase = {
  name: 'new rows do not move the row that is read; at the top they show at once',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await clientOf({ coordinator });
    const submit = () => client.executions.submit({ pipeline: 'growing', input: {} });
    for (let count = 0; count < ROWS; count += 1) await submit();
    await driver.open('/executions?pipeline=growing', 'Executions');
    await page.getByText(/^40 executions/).waitFor();
    const list = page.getByRole('group', { name: 'Executions' });
    await list.evaluate((each: { scrollTop: number }) => {
      each.scrollTop = 10 * 36 + 7;
    });
    const row = page.getByRole('row').filter({ visible: true }).nth(18);
    const link = page.locator(`a[href="${await row.getByRole('link').getAttribute('href')}"]`);
    const before = await link.boundingBox();
    await submit();
    await submit();
    await page.getByText(/^42 executions/).waitFor();
    assert.deepEqual(await link.boundingBox(), before);
    await list.evaluate((each: { scrollTop: number }) => {
      each.scrollTop = 0;
    });
    const { id } = await submit();
    await page.locator(`a[href$="${id}"]`).waitFor();
    assert.equal(await list.evaluate((each: { scrollTop: number }) => each.scrollTop), 0);
    await client.jobs.cancel({ filter: { pipeline: 'growing' } });
    await page.getByRole('cell', { name: 'cancelled' }).first().waitFor();
  },
};

export const READER_CASES: readonly BrowserCase[] = [
  ...[
    keepsQuestion,
    neverMore,
    searchesFurther,
    quarantineInBulk,
    crashed,
    aftermath,
    comesBack,
    asAllowed,
    backNavigation,
    brokenPage,
    notYet,
    stays,
    leavesOut,
  ],
];
