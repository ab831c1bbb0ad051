// What a person on call relies on: true numbers, counts, severities, safe operations, the keyboard and the
// size of the first load.

import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { HoldfastClient } from '../../../src/client/client.ts';
import { DEFAULT_PROJECT, type ExecutionId } from '../../../src/execution/names.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { Holdfast, pipeline, StepError } from '../../../src/index.ts';
import { toFence } from '../../../src/lease/fence.ts';
import type { Owner, SessionId } from '../../../src/lease/names.ts';
import { systemRandom } from '../../../src/support/random.ts';
import { openWorker } from '../../../src/worker/open-worker.ts';
import type { BrowserCase, Scene } from './register.ts';

async function clientOf({ coordinator }: Pick<Scene, 'coordinator'>): Promise<HoldfastClient> {
  return new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
}

/** More than a page of rows, so that figures from a page would be wrong. */
const MANY = 1_200;

const numbers: BrowserCase = {
  name: 'the overview counts in the store: failures stay, however much succeeds after them',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    const quick = pipeline({ name: 'quick', run: async () => 'done' });
    await holdfast.worker({ pipelines: [quick], owner: 'quick@host-5', concurrency: 64 });
    const handles = await Promise.all(
      Array.from({ length: MANY }, () => holdfast.submit(quick, undefined)),
    );
    await Promise.all(handles.map((handle) => handle.result()));
    await holdfast.close();
    await driver.open('/', 'Overview');
    await figure(page, 'Dead letters')
      .getByText(/^[1-9]\d*$/)
      .waitFor();
    await figure(page, 'Failure rate')
      .getByText(/^\d+(\.\d)? %$/)
      .waitFor();
    const rate = await figure(page, 'Failure rate').locator('strong').textContent();
    assert.notEqual(rate, '0.0 %');
    const quantiles = await figure(page, 'Median duration').locator('.figure-about').textContent();
    // On a narrow card, a line breaks between the figures.
    assert.match(quantiles ?? '', /^p95\u00a0≈[^ ]+ · p99\u00a0≈[^ ]+$/);
    // Every end is in a figure, also those that are neither good nor bad.
    const ended =
      /[\d,]{5,} completed; [1-9]\d* compensated, cancelled; [1-9]\d* failed, quarantined/;
    await page.getByRole('img', { name: ended }).waitFor();
    await page.getByRole('row').filter({ hasText: 'quick' }).getByText('0.0 %').waitFor();
    await page
      .getByRole('row')
      .filter({ hasText: /^payment/ })
      .getByText('100.0 %')
      .waitFor();
  },
};

function figure(page: Page, name: string) {
  return page.locator('.figure').filter({ hasText: name });
}

const attention: BrowserCase = {
  name: 'the overview begins with what needs a person, and the navigation counts it',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await clientOf({ coordinator });
    const { id } = await client.executions.submit({ pipeline: 'no-such-worker' });
    await driver.open('/', 'Overview');
    const region = page.getByRole('region', { name: 'Needs attention' });
    const row = region.getByRole('listitem').filter({ hasText: 'No worker serves no-such-worker' });
    await row.getByText(/1 execution ready for/).waitFor();
    await region.getByText(/\d+ dead letters?, \d+ causes?/).waitFor();
    await region.getByText(/^\d+ executions? quarantined$/).waitFor();
    await region.getByText(/^\d+ in the last hour · /).waitFor();
    const nav = page.getByRole('navigation', { name: 'Pages' });
    await nav.getByTitle(/^\d+ open dead letters$/).waitFor();
    await nav.getByTitle(/^\d+ quarantined and blocked executions$/).waitFor();
    await nav.getByTitle(/^\d+ workers ready$/).waitFor();
    await row.getByRole('link').click();
    await driver.heading('Executions').waitFor();
    await page.getByRole('cell', { name: 'no-such-worker' }).waitFor();
    await client.executions.cancel(id);
  },
};

const blockedFirst: BrowserCase = {
  name: 'executions that their code blocks are on the overview and in the navigation',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    const invoice = pipeline({
      name: 'invoice',
      run: () => {
        throw new TypeError('Cannot read properties of undefined.');
      },
    });
    await holdfast.worker({ pipelines: [invoice], owner: 'invoice@host-6' });
    const handles = await Promise.all([1, 2].map(() => holdfast.submit(invoice, undefined)));
    await driver.open('/', 'Overview');
    const region = page.getByRole('region', { name: 'Needs attention' });
    const row = region
      .getByRole('listitem')
      .filter({ hasText: '2 invoice executions are blocked' });
    await row.waitFor();
    await figure(page, 'Open now')
      .getByText(/\d+ blocked$/)
      .waitFor();
    const nav = page.getByRole('navigation', { name: 'Pages' });
    await nav.getByTitle(/^\d+ quarantined and blocked executions$/).waitFor();
    await row.getByRole('link').click();
    await driver.heading('Executions').waitFor();
    await page.getByRole('cell', { name: 'invoice' }).first().waitFor();
    for (const { id } of handles) await holdfast.cancel(id);
    await holdfast.close();
  },
};

/** One scale: each end has its own colour. */
const ENDS = [
  ['completed', 'why-ok'],
  ['failed', 'why-bad'],
  ['compensated', 'why-undo'],
  ['quarantined', 'why-quarantine'],
] as const;

const severities: BrowserCase = {
  name: 'the banner has the colour of its severity, and names the operation of its button',
  async run({ driver, world }) {
    const { page } = driver;
    const colours = new Set<string>();
    for (const [name, className] of ENDS) {
      const heading = name === 'failed' ? 'payment' : 'order';
      await driver.open(`/executions/${world[name]}`, heading);
      const banner = page.locator(`.${className}`);
      await banner.waitFor();
      colours.add(
        await page.evaluate<string>(
          `getComputedStyle(document.querySelector('.why')).borderLeftColor`,
        ),
      );
    }
    assert.equal(colours.size, ENDS.length, [...colours].join());
    await page.getByText(/retry the compensation/).waitFor();
    await driver.button('Retry compensation…').waitFor();
  },
};

const bulk: BrowserCase = {
  name: 'a bulk cancel needs its count and a reason, and takes no more; Cancel never destroys',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await clientOf({ coordinator });
    for (let count = 0; count < 2; count += 1) {
      await client.executions.submit({ pipeline: 'to-be-cancelled' });
    }
    await driver.open('/executions?pipeline=to-be-cancelled', 'Executions');
    await driver.button('Cancel 2 executions…').click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Cancel 2 executions', exact: true });
    await confirm.waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Cancel', exact: true }).count(), 0);
    await confirm.click();
    assert.equal(await page.locator('input:invalid').count(), 1, 'a reason is required');
    await dialog.getByRole('button', { name: 'Keep running' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    await driver.button('Cancel 2 executions…').click();
    await dialog.getByLabel(/^Reason/).fill('a wrong deploy');
    await confirm.waitFor();
    const { id } = await client.executions.submit({ pipeline: 'to-be-cancelled' });
    await confirm.click();
    await driver.heading('Bulk cancel').waitFor();
    await page.locator('main').getByText('Finished', { exact: true }).waitFor();
    assert.equal((await client.executions.read(id)).status, 'queued');
    await page.getByRole('link', { name: 'Jobs' }).first().click();
    await driver.heading('Jobs').waitFor();
    await page.getByText('a wrong deploy').waitFor();
  },
};

const undo: BrowserCase = {
  name: 'a pause is reported, and can be undone from the note',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open(`/executions/${world.sleeper}`, 'reminder');
    await driver.button('Pause…').click();
    await driver.button('Pause execution').click();
    const note = page.locator('.toast').filter({ hasText: 'Execution paused' });
    await note.waitFor();
    await driver.button('Resume…').waitFor();
    await driver.checkAccess('a page with a note');
    await note.getByRole('button', { name: 'Undo' }).click();
    await driver.button('Pause…').waitFor();
  },
};

const keys: BrowserCase = {
  name: 'search, rows and help work from the keyboard',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open('/executions', 'Executions');
    await page.getByRole('table', { name: 'Executions' }).getByRole('link').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    const focused = await page.evaluate<string>('document.activeElement.getAttribute("href")');
    assert.match(focused, /\/executions\/[0-9a-f-]{36}$/);
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
    await driver.checkAccess('the help');
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.keyboard.type('dead');
    const search = page.getByRole('combobox', { name: /^Search by ID/ });
    assert.equal(await search.inputValue(), 'dead', 'no key is lost on the first opening');
    await driver.checkAccess('the palette');
    await page.keyboard.press('Enter');
    await driver.heading('Dead letters').waitFor();
    await page.keyboard.press('Control+k');
    await search.fill(world.sleeper);
    await page.keyboard.press('Enter');
    await driver.heading('reminder').waitFor();
  },
};

const finds: BrowserCase = {
  name: 'an execution is found by its key or the start of its ID; children can be left out',
  async run({ driver, world }) {
    const { page } = driver;
    await driver.open('/executions', 'Executions');
    const rows = page.getByRole('table', { name: 'Executions' }).getByRole('link');
    await rows.first().waitFor();
    for (const text of ['order/ORD-100', world.checkout.slice(0, 30)]) {
      await page.getByLabel('Search').fill(text);
      await page.keyboard.press('Enter');
      await rows.nth(1).waitFor({ state: 'detached' });
      await rows.filter({ hasText: 'order/ORD-10084' }).waitFor();
    }
    await driver.open('/executions?pipeline=build-preview', 'Executions');
    await rows.nth(5).waitFor();
    await page.getByLabel('Top level only').check();
    await page.getByText('No matching executions').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Search by ID/ }).fill('order/ORD');
    await page
      .getByRole('option', { name: /order\/ORD-10084/ })
      .first()
      .click();
    await driver.heading('checkout').waitFor();
  },
};

const narrows: BrowserCase = {
  name: 'all words of a search count, and a list and its bulk job keep to a range of time',
  async run({ driver, coordinator, world }) {
    const { page } = driver;
    const client = await clientOf({ coordinator });
    const search = async (text: string): Promise<void> => {
      await page.getByLabel('Search', { exact: true }).fill(text);
      await page.keyboard.press('Enter');
    };
    await driver.open('/executions', 'Executions');
    await search('order/ORD-1 order/ORD-2');
    await page.getByText(/are two keys or IDs, and a search has one/).waitFor();
    await search(`parent:${world.checkout} status:failed`);
    await page.locator('.chip-on', { hasText: 'failed' }).waitFor();
    const rows = page.getByRole('table', { name: 'Executions' }).getByRole('link');
    const { count } = await client.executions.count({ parent: world.checkout, status: ['failed'] });
    assert.ok(count > 0);
    await page.getByText(`${count} execution`).first().waitFor();
    await rows.nth(count - 1).waitFor();
    assert.equal(await rows.count(), count);
    // The time of an execution is that of its submitter.
    const hourAgo = { wallMs: () => Date.now() - AHEAD_MS, monotonicMs: () => performance.now() };
    const early = new Holdfast({ store: coordinator.store, clock: hourAgo });
    const late = new Holdfast({ store: coordinator.store });
    await early.submit('in-range', undefined, { key: 'hour-old' });
    await late.submit('in-range', undefined, { key: 'fresh' });
    await driver.open('/executions?pipeline=in-range', 'Executions');
    await rows.nth(1).waitFor();
    await page.getByLabel('Time range').selectOption('Last 15 min');
    await page.getByText('1 execution · newest first').waitFor();
    await driver.button('Cancel 1 execution…').click();
    await page.getByText(/matching submitted from .*, pipeline = in-range/).waitFor();
    await page.getByRole('button', { name: 'Cancel 1 execution', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    assert.deepEqual([await rows.first().textContent(), await rows.count()], ['fresh', 1]);
    await page.getByLabel('Time range').selectOption('Submitted between two times');
    const from = page.getByLabel('Submitted from');
    const then = new Date(Date.now() - 2 * AHEAD_MS);
    const local = new Date(then.getTime() - then.getTimezoneOffset() * 60_000);
    await from.fill(local.toISOString().slice(0, 19));
    await from.press('Enter');
    await page.getByText('2 executions · newest first').waitFor();
    assert.match(page.url(), /submittedFrom=/);
    await driver.checkAccess('a range of time');
    await driver.checkWidth(390);
    const { items } = await client.executions.list({ pipeline: 'in-range' });
    for (const { id } of items) await client.executions.cancel(id);
    await early.close();
    await late.close();
  },
};

const spike: BrowserCase = {
  name: 'a figure and a brushed chart lead to the executions that ended in their range',
  async run({ driver }) {
    const { page } = driver;
    await driver.open('/', 'Overview');
    await figure(page, 'Failure rate').getByRole('link').click();
    await driver.heading('Executions').waitFor();
    await page.getByLabel('Ended from').waitFor();
    const rows = page.getByRole('table', { name: 'Executions' }).getByRole('link');
    await rows.first().waitFor();
    await page.goBack();
    await driver.heading('Overview').waitFor();
    const chart = page.locator('.chart-brushed').first();
    const box = await chart.boundingBox();
    assert.ok(box !== null);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 1, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    await page.getByRole('link', { name: 'Executions that ended in this range' }).click();
    await page.getByText(/executions? · last ended first/).waitFor();
    assert.match(page.url(), /endedFrom=.*&endedTo=/);
    await rows.first().waitFor();
    const [from, to] = ['endedFrom', 'endedTo'].map((name) =>
      new URL(page.url()).searchParams.get(name),
    );
    const ended = await page.evaluate<number>(
      `fetch('/v1/executions/count?endedFrom=${from}&endedTo=${to}').then((reply) => reply.json()).then(({ count }) => count)`,
    );
    assert.ok(ended > 0);
    await page
      .getByText(`${ended.toLocaleString('en-US')} execution`)
      .first()
      .waitFor();
    await driver.checkAccess('a range of ends');
    await driver.checkWidth(390);
  },
};

/** Ahead of the store by more than the test takes. */
const AHEAD_MS = 3_600_000;

const order: BrowserCase = {
  name: 'rows are in the order of their shown times, also if the clock of a submitter is ahead',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const ahead = {
      wallMs: () => Date.now() + AHEAD_MS,
      monotonicMs: () => performance.now(),
    };
    const early = new Holdfast({ store: coordinator.store, clock: ahead });
    const late = new Holdfast({ store: coordinator.store });
    for (const [holdfast, key] of [
      [early, 'first'],
      [late, 'second'],
    ] as const) {
      await holdfast.submit('in-order', undefined, { key });
      // Shown times are in milliseconds. Rows of the same one are in the order of their ids.
      for (const at = Date.now(); Date.now() <= at + 1; ) await setImmediate();
    }
    const keys = page.getByRole('table', { name: 'Executions' }).getByRole('link');
    await driver.open('/executions?pipeline=in-order', 'Executions');
    await keys.nth(1).waitFor();
    assert.deepEqual(await keys.allTextContents(), ['second', 'first']);
    await page.getByLabel('Order').selectOption('oldest');
    await keys.filter({ hasText: 'first' }).first().waitFor();
    await page.getByText('2 executions · oldest first').waitFor();
    assert.deepEqual(await keys.allTextContents(), ['first', 'second']);
    const client = await clientOf({ coordinator });
    const { items } = await client.executions.list({ pipeline: 'in-order' });
    assert.deepEqual(
      items.map(({ key }) => key),
      ['first', 'second'],
      'the IDs have the other order',
    );
    for (const { id } of items) await client.executions.cancel(id);
    await early.close();
    await late.close();
  },
};

const compressed: BrowserCase = {
  name: 'lists arrive compressed, and are small on the wire',
  async run({ driver }) {
    const { page } = driver;
    await driver.open('/executions', 'Executions');
    // The coordinator compresses two responses at once, and the page asks for more. So ask again.
    const list = new URL('/v1/executions?limit=50', page.url()).href;
    const arrived = page.waitForResponse(
      async (response) =>
        response.url() === list && (await response.headerValue('content-encoding')) !== null,
    );
    for (let tries = 0; tries < 10; tries += 1) {
      await page.evaluate((url) => fetch(url).then((each) => each.text()), list);
    }
    const response = await arrived;
    const encoding = await response.headerValue('content-encoding');
    assert.match(encoding ?? '', /^(br|gzip)$/);
    const { responseBodySize } = await response.request().sizes();
    const { length } = await response.body();
    assert.ok(responseBodySize < length / 3, `${responseBodySize} of ${length} bytes`);
  },
};

const oneCause: BrowserCase = {
  name: 'a bug that fails in many steps of a loop is one cause, with its message',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const key = await coordinator.key(ROLES, 'loops');
    const loop = pipeline({
      name: 'import-rows',
      retry: { attempts: 1 },
      run: (ctx, row: number) =>
        ctx.step(`row-${row}`, () => {
          throw new StepError('The date is missing.', { category: 'permanent', code: 'bad-row' });
        }),
    });
    const worker = await openWorker({ url: coordinator.url, key, pipelines: [loop] });
    const client = new HoldfastClient({ url: coordinator.url, key });
    for (const input of [5, 6, 7]) {
      const { id } = await client.executions.submit({ pipeline: 'import-rows', input });
      await client.executions.result(id);
    }
    await worker.stop();
    await page.context().clearCookies();
    await driver.signIn(key);
    await driver.open('/dead-letters', 'Dead letters');
    await page.getByText('3 dead letters, 1 cause').waitFor();
    const cause = page.locator('.cause');
    await cause.getByText('3 steps').waitFor();
    await cause.getByText('The date is missing.').waitFor();
    assert.equal(await cause.count(), 1);
    await page.context().clearCookies();
    await driver.signIn(await coordinator.key(ROLES));
  },
};

/** Pages, scripts and styles on the wire. Fonts are apart: text shows before they arrive. */
const FIRST_BYTES_MAX = 110 * 1_024;
const LINK_BYTES_MAX = 60 * 1_024;

async function bytesOf(page: Page, load: () => Promise<unknown>): Promise<number> {
  let bytes = 0;
  const onResponse = (response: { url(): string; headers(): Record<string, string> }): void => {
    const isPart = /\/console\//.test(response.url()) && !/\.woff2/.test(response.url());
    if (isPart) bytes += Number(response.headers()['content-length'] ?? 0);
  };
  page.on('response', onResponse);
  await load();
  page.off('response', onResponse);
  return bytes;
}

const sizes: BrowserCase = {
  name: 'the first load is at most 110 KB, and an answer link at most 60 KB with everything',
  async run({ driver, coordinator }) {
    const context = await driver.page.context().browser()?.newContext();
    const page = (await context?.newPage()) ?? driver.page;
    const first = await bytesOf(page, async () => {
      await page.goto(`${coordinator.url}/console/`);
      await page.getByLabel('API key').waitFor();
      await page.getByLabel('API key').fill(await coordinator.key(ROLES));
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('.figure').first().waitFor();
    });
    assert.ok(first > 20_000 && first <= FIRST_BYTES_MAX, `${first} bytes`);
    const fonts: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('.woff2')) fonts.push(request.url());
    });
    const second = (await context?.newPage()) ?? page;
    const link = await bytesOf(second, async () => {
      await second.goto(`${coordinator.url}/console/answer/none`);
      await second.getByText('Nothing to answer').waitFor();
    });
    assert.ok(link > 2_000 && link <= LINK_BYTES_MAX, `${link} bytes`);
    await context?.close();
  },
};

const heat: BrowserCase = {
  name: 'workers show load, and heartbeats with lost sessions and refused writes over a range; leases and the advisor are pages of their own',
  async run({ driver, coordinator, world }) {
    const { page } = driver;
    const { sessions, executions } = coordinator.store;
    const frozen = { id: systemRandom.uuid() as SessionId, owner: 'frozen@host-9' as Owner };
    await sessions.open({ ...frozen, ttlMs: 60_000, graceMs: 1_000, metadata: {} });
    await driver.open('/workers', 'Workers');
    const map = page.getByRole('region', { name: 'Heartbeats' });
    await map.getByRole('img', { name: /^packer@host-1: / }).waitFor();
    await map.getByRole('img', { name: /^frozen@host-9: all heartbeats in time/ }).waitFor();
    const [fence, newest] = [toFence(2 ** 40 + 1), toFence(2 ** 40 + 2)];
    await executions.noteRefusals([
      {
        ...{ execution: world.takenOver as ExecutionId, project: DEFAULT_PROJECT, verb: 'record' },
        ...{ fence, newest, why: 'superseded', session: frozen.id, owner: frozen.owner },
        ...{ count: 1, firstAgoMs: 0, lastAgoMs: 0, transport: 'grpc' },
      },
    ]);
    await sessions.end({ id: frozen.id, by: { kind: 'operator', actor: 'ann', reason: 'frozen' } });
    const marked = /^frozen@host-9: .*session lost, 1 late write refused$/;
    // A reading and a refresh of the page.
    await map.getByRole('img', { name: marked }).waitFor({ timeout: 30_000 });
    await map.getByText('✕', { exact: true }).waitFor();
    // Another browser, and one that is opened later, see the same.
    await driver.open('/?range=15m', 'Overview');
    await page.getByRole('img', { name: marked }).waitFor();
    await driver.shoot('heat-map');
    await driver.open('/workers?range=24h', 'Workers');
    await page.getByRole('img', { name: marked }).waitFor();
    const card = page.getByRole('listitem').filter({ hasText: 'packer@host-1' });
    for (const fact of ['Busy slots', 'Up', 'Kind', 'Host', 'Version'])
      await card.getByText(fact, { exact: true }).waitFor();
    // Executions that other cases started may hold slots.
    await card.getByText(/^\d+, \d+ free$/).waitFor();
    assert.equal(await page.getByText('TTL advisor').count(), 0);
    await driver.open('/leases', 'Leases');
    await page.getByRole('link', { name: 'TTL advisor' }).click();
    await driver.heading('TTL advisor').waitFor();
  },
};

export const AUDIT_CASES: readonly BrowserCase[] = [
  ...[
    attention,
    blockedFirst,
    severities,
    bulk,
    undo,
    keys,
    finds,
    narrows,
    spike,
    order,
    compressed,
    oneCause,
    heat,
    sizes,
  ],
  numbers,
];
