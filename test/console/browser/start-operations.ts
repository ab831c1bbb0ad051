// Work that a person starts from the console: by a form, from a step, or as a run of a schedule.

import assert from 'node:assert/strict';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { pipeline, type Schema } from '../../../src/index.ts';
import { openWorker } from '../../../src/worker/open-worker.ts';
import type { BrowserCase, Scene } from './register.ts';

async function clientOf({ coordinator }: Scene): Promise<HoldfastClient> {
  return new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
}

function idIn(url: string): string {
  return /executions\/([0-9a-f-]{36})/.exec(url)?.[1] ?? '';
}

const form: BrowserCase = {
  name: 'an execution starts from a form of its input schema, or from JSON',
  async run(scene) {
    const { driver } = scene;
    const { page } = driver;
    const client = await clientOf(scene);
    await driver.open('/executions', 'Executions');
    await driver.button('Start execution…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Pipeline').fill('parcel');
    const fields = dialog.getByRole('group', { name: 'Input' });
    await fields.getByLabel('to').fill('east');
    await driver.checkAccess('the form of a pipeline');
    await driver.shoot('start-form');
    await fields.getByRole('button', { name: 'Edit as JSON' }).click();
    const text = dialog.getByLabel(/^Input/);
    assert.deepEqual(JSON.parse(await text.inputValue()), { to: 'east' });
    await text.fill('{"to": "we');
    await dialog.getByRole('button', { name: 'Start execution' }).click();
    await dialog.getByRole('alert').waitFor();
    await text.fill('{"to": "west"}');
    await dialog.getByRole('button', { name: 'Start execution' }).click();
    await driver.heading('parcel').waitFor();
    const id = idIn(page.url());
    const { input } = await client.executions.read(id);
    assert.deepEqual(input, { to: 'west' });
    await client.executions.cancel(id);
  },
};

const TO: Schema<{ readonly to?: string }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value: (value ?? {}) as { readonly to?: string } }),
    ...{
      jsonSchema: { input: () => ({ type: 'object', properties: { to: { type: 'string' } } }) },
    },
  },
};

const announced: BrowserCase = {
  name: 'a pipeline without a release and executions has the form that its worker announced',
  async run(scene) {
    const { driver, coordinator } = scene;
    const { page } = driver;
    const greets = pipeline({ name: 'greets', input: TO, run: (_, { to = '' }) => to });
    const plain = pipeline({ name: 'greets-plainly', run: () => 'hello' });
    const key = await coordinator.key(ROLES, 'default');
    const worker = await openWorker({ url: coordinator.url, key, pipelines: [greets, plain] });
    await driver.open('/executions', 'Executions');
    await driver.button('Start execution…').click();
    const dialog = page.getByRole('dialog');
    await page.locator('datalist option[value=greets]').waitFor({ state: 'attached' });
    await dialog.getByLabel('Pipeline').fill('greets-plainly');
    await dialog.getByRole('textbox', { name: /^Input/ }).waitFor();
    await dialog.getByLabel('Pipeline').fill('greets');
    await dialog.getByRole('group', { name: 'Input' }).getByLabel('to').fill('ann');
    await dialog.getByRole('button', { name: 'Start execution' }).click();
    await driver.heading('greets').waitFor();
    await page.getByText(/Completed at/).waitFor();
    const client = await clientOf(scene);
    assert.deepEqual((await client.executions.read(idIn(page.url()))).input, { to: 'ann' });
    await worker.stop();
  },
};

const fromStep: BrowserCase = {
  name: 'a step of an ended execution is re-driven, with the results before it',
  async run(scene) {
    const { driver, world } = scene;
    const { page } = driver;
    await driver.open(`/executions/${world.completed}`, 'order');
    await page.locator('.line', { hasText: 'ship' }).click();
    const inspector = page.getByRole('complementary', { name: 'Inspector' });
    await inspector.getByRole('button', { name: 'Re-drive from here…' }).click();
    await page.getByLabel(/^Reason/).fill('a lost parcel');
    await driver.button('Re-drive from ship').click();
    await page.waitForURL((url) => idIn(url.href) !== world.completed);
    await page.getByText(/Completed at/).waitFor();
    await page.getByRole('tab', { name: 'Related' }).click();
    await page.getByText('Re-drive of').waitFor();
    const client = await clientOf(scene);
    const { redriveOf } = await client.executions.read(idIn(page.url()));
    assert.equal(redriveOf, world.completed);
  },
};

const editedInput: BrowserCase = {
  name: 'a step is re-driven with an edited input, in a form of its schema, and the history says so',
  async run(scene) {
    const { driver } = scene;
    const { page } = driver;
    const client = await clientOf(scene);
    const { id } = await client.executions.submit({ pipeline: 'parcel', input: { to: 'east' } });
    await client.executions.signal(id, 'go');
    assert.equal((await client.executions.result(id)).output, 'east');
    await driver.open(`/executions/${id}`, 'parcel');
    await page.locator('.line', { hasText: 'send' }).click();
    await driver.button('Re-drive from here…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Edit input').check();
    const to = dialog.getByRole('group', { name: 'Input' }).getByLabel('to');
    assert.equal(await to.inputValue(), 'east');
    await to.fill('west');
    await dialog.getByLabel(/^Reason/).fill('moved away');
    await driver.checkAccess('a re-drive with an edited input');
    await driver.shoot('redrive-edited');
    await driver.button('Re-drive from send').click();
    await page.waitForURL((url) => idIn(url.href) !== id);
    await page.getByText(/Completed at/).waitFor();
    await page.getByText(/^Input edited by .*: moved away$/).waitFor();
    const again = idIn(page.url());
    assert.equal((await client.executions.result(again)).output, 'west');
    const { items } = await client.records.audit({ target: 'execution', targetId: id });
    assert.deepEqual(
      items.map(({ action, after }) => [action, after?.['inputEdited']]),
      [['redrive', true]],
    );
  },
};

const schedule: BrowserCase = {
  name: 'a schedule shows its next and last runs, runs now although it is paused, and fills past times',
  async run(scene) {
    const { driver } = scene;
    const { page } = driver;
    const client = await clientOf(scene);
    await client.schedules.put('stock-take', {
      ...{ cron: '0 4 * * *', pipeline: 'order', input: { item: 'compass', asks: 'anything' } },
      options: { tags: ['by-schedule'] },
    });
    await client.schedules.pause('stock-take');
    await driver.open('/schedules', 'Schedules');
    const card = page.getByRole('listitem').filter({ hasText: 'stock-take' }).first();
    const next = card.getByRole('region', { name: 'Next runs of stock-take' });
    await next.getByText('None until it is resumed').waitFor();
    await card.getByRole('button', { name: 'Resume…' }).click();
    await driver.button('Resume schedule').click();
    await next.getByRole('listitem').nth(4).waitFor();
    await driver.button('Undo').click();
    await next.getByText('None until it is resumed').waitFor();
    const last = card.getByRole('region', { name: 'Last runs of stock-take' });
    await last.getByText('Never run').waitFor();
    const run = async (): Promise<void> => {
      await card.getByRole('button', { name: 'Run now…' }).click();
      await page.getByRole('heading', { name: 'Run stock-take now' }).waitFor();
    };
    await run();
    await driver.checkAccess('a run of a schedule');
    await driver.button('Run schedule').click();
    await driver.heading('order').waitFor();
    const id = idIn(page.url());
    const { tags, input } = await client.executions.read(id);
    assert.deepEqual([tags, input], [['by-schedule'], { item: 'compass', asks: 'anything' }]);
    await driver.open('/schedules', 'Schedules');
    await run();
    await driver.button('Run schedule').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^Nothing was started: .* is still open/).waitFor();
    await dialog.getByLabel(/still open/).selectOption('allow');
    await driver.button('Run schedule').click();
    await driver.heading('order').waitFor();
    assert.notEqual(idIn(page.url()), id);
    await driver.open('/schedules', 'Schedules');
    await card.getByRole('button', { name: 'Backfill…' }).click();
    const to = await dialog.getByLabel('To').inputValue();
    const twoDays = new Date(Date.parse(`${to}Z`) - 2 * 86_400_000).toISOString().slice(0, 19);
    await dialog.getByLabel('From').fill(twoDays);
    await driver.checkAccess('a backfill');
    await driver.shoot('backfill');
    await driver.button('Start executions').click();
    await page.getByText('2 scheduled times in the range, 2 executions started').waitFor();
    await last.getByRole('listitem').nth(3).waitFor();
    await last.getByRole('link', { name: 'Last runs' }).click();
    await driver.heading('Executions').waitFor();
    await page.getByText('4 executions ·').waitFor();
    await client.schedules.remove('stock-take');
    const { items } = await client.executions.list({ tag: 'by-schedule' });
    for (const each of items) await client.executions.cancel(each.id);
  },
};

const scheduleForm: BrowserCase = {
  name: 'a schedule is created with a form, changed, and deleted',
  async run(scene) {
    const { driver } = scene;
    const { page } = driver;
    const client = await clientOf(scene);
    const read = async () =>
      (await client.schedules.list()).items.find(({ id }) => id === 'hourly');
    const save = async (verb: string): Promise<void> => {
      await driver.button(verb).click();
    };
    await driver.open('/schedules', 'Schedules');
    await driver.button('New schedule…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('ID').fill('nightly');
    await dialog.getByLabel('Pipeline').fill('parcel');
    await dialog.getByLabel(/^Cron/).fill('5 * * *');
    await dialog.getByRole('group', { name: 'Input' }).getByLabel('to').fill('east');
    await driver.checkAccess('the form of a schedule');
    await driver.shoot('schedule-form');
    await save('Create schedule');
    await dialog.getByRole('alert').filter({ hasText: 'cron' }).waitFor();
    await dialog.getByLabel(/^Cron/).fill('5 * * * *');
    await save('Create schedule');
    await dialog.getByRole('alert').filter({ hasText: 'schedule-exists' }).waitFor();
    await dialog.getByLabel('ID').fill('hourly');
    await save('Create schedule');
    await page.getByText('Schedule created').waitFor();
    const card = page.getByRole('listitem').filter({ hasText: 'hourly' }).first();
    await card.getByText('5 * * * *').waitFor();
    assert.deepEqual((await read())?.input, { to: 'east' });
    await card.getByRole('button', { name: 'Edit…' }).click();
    await dialog.getByLabel('Runs', { exact: true }).selectOption('every');
    await dialog.getByLabel(/^Every/).fill('3600');
    await dialog.getByLabel('If its last execution is still open').selectOption('buffer');
    await dialog.getByLabel(/^Longest delay/).fill('2.5');
    await dialog.getByLabel('Pause after a failed run').check();
    await save('Save schedule');
    await card.getByText('Every 1 h').waitFor();
    await card.getByText(/Overlap: buffer · .*pauses after a failure/).waitFor();
    const { when, overlap, jitterMs, input } = (await read()) ?? {};
    assert.deepEqual(
      [when, overlap, jitterMs, input],
      [{ every: 3_600_000 }, 'buffer', 2_500, { to: 'east' }],
    );
    await card.getByRole('button', { name: 'Delete…' }).click();
    await driver.button('Delete schedule').click();
    await card.waitFor({ state: 'detached' });
    assert.equal(await read(), undefined);
  },
};

const views: BrowserCase = {
  name: 'a saved view is shared with the project, has a link, and is changed, renamed and deleted',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const client = await coordinator.client(['operate'], 'default');
    const saved = async () =>
      (await client.views.list()).items.map(({ id, name, query }) => `${id} | ${name} | ${query}`);
    const choice = page.getByLabel('Saved views');
    await driver.open('/executions?status=compensated&pipeline=order', 'Executions');
    await driver.button('Save view…').click();
    await page.getByLabel('View name').fill('All');
    await driver.button('Save').click();
    await page.getByText('A view named "All" already exists.').waitFor();
    await page.getByLabel('View name').fill('Undone orders');
    await driver.button('Save').click();
    await choice.waitFor();
    assert.deepEqual(await saved(), [
      'undone-orders | Undone orders | status=compensated&pipeline=order',
    ]);
    await driver.button('All').click();
    await page.waitForURL((url) => url.search === '');
    await choice.selectOption('Undone orders');
    await page.waitForURL(/status=compensated&pipeline=order&view=undone-orders$/);
    await driver.checkAccess('a saved view');
    await driver.open('/executions?view=undone-orders', 'Executions');
    await page.waitForURL(/status=compensated&pipeline=order&view=undone-orders$/);
    await page.getByLabel('compensated').uncheck();
    await page.getByLabel('Search', { exact: true }).fill('');
    await driver.button('Search').click();
    await driver.button('Save changes to "Undone orders"').waitFor();
    assert.equal(new URL(page.url()).search, '?view=undone-orders', 'a removed filter stays away');
    await page.goBack();
    await page.goBack();
    await page.waitForURL(/status=compensated&pipeline=order&view=undone-orders$/);
    await page.getByLabel('Top level only').check();
    await driver.button('Save changes to "Undone orders"').click();
    await driver.button('Save changes to "Undone orders"').waitFor({ state: 'detached' });
    assert.match((await saved())[0] ?? '', /topLevel=true/);
    await driver.button('Rename…').click();
    await page.getByLabel('View name').fill('Given back');
    await driver.button('Save').click();
    await choice.getByRole('option', { name: 'Given back' }).waitFor({ state: 'attached' });
    assert.match((await saved())[0] ?? '', /^undone-orders \| Given back \| /);
    await driver.button('Delete view…').click();
    await driver.button('Delete view').click();
    await choice.waitFor({ state: 'detached' });
    assert.deepEqual(await saved(), []);
    await driver.button('Undo').click();
    await choice.waitFor();
    const records = (await client.records.audit({ limit: 5 })).items;
    assert.deepEqual(
      records.map(({ action, target }) => `${action} ${target.id}`),
      ['put', 'remove', 'put', 'put', 'put'].map((each) => `${each}-view undone-orders`),
    );
  },
};

export const START_CASES: readonly BrowserCase[] = [
  ...[views, form, announced, fromStep, editedInput, schedule, scheduleForm],
];
