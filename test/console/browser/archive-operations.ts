// The archive page: find, read, save and verify an execution, and archive now.

import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HoldfastClient } from '../../../src/client/client.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import type { BrowserCase } from './register.ts';

const browses: BrowserCase = {
  name: 'an archived execution is found by a word of its key, read, saved and checked',
  async run({ driver, world, archiveFolder }) {
    const { page } = driver;
    await driver.open('/archive', 'Archive');
    await page.getByLabel('Key words or ID').fill('47');
    await driver.button('Search').click();
    await page.getByText('No matches').waitFor();
    await page.getByLabel('Key words or ID').fill('4711 bern');
    await page.getByLabel('Status').selectOption('completed');
    await driver.button('Search').click();
    await page.getByRole('cell', { name: 'Invoice-4711 Bern' }).waitFor();
    await page.reload();
    await page.getByRole('table', { name: 'Archive' }).getByRole('link').click();
    await driver.heading('invoice').waitFor();
    await page.getByRole('heading', { name: 'invoice: completed' }).waitFor();
    for (const tab of ['Record', 'Steps', 'History'] as const) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByText(SHOWN[tab]).first().waitFor();
      await driver.checkAccess(`the archive: ${tab}`);
      await driver.shoot(`archived-${tab.toLowerCase()}`);
    }
    await page.getByRole('tab', { name: /^Documents/ }).click();
    await page.getByRole('cell', { name: 'Value', exact: true }).first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download invoice.txt' }).click(),
    ]);
    assert.equal(await readFile((await download.path()) ?? '', 'utf8'), 'Pay 17 francs.');
    await driver.button('Verify').click();
    await page.getByText(/documents verified, all intact/).waitFor();
    await spoil(archiveFolder, world.archived);
    await driver.button('Verify').click();
    await page.getByText(/Damaged: report\.md \(changed\)/).waitFor();
    await driver.checkAccess('documents that were changed');
    await driver.shoot('archived-documents');
  },
};

const SHOWN = { Record: '"completed"', Steps: 'step:write#1', History: 'Submitted' } as const;

async function spoil(folder: string, id: string): Promise<void> {
  const files = await readdir(folder, { recursive: true });
  const report = files.find((each) => each.includes(id) && each.endsWith('report.md'));
  await writeFile(join(folder, report ?? 'none'), 'Nothing happened.');
}

const runs: BrowserCase = {
  name: 'the console archives due executions, and an old link then leads to the archive',
  async run({ driver, world, coordinator }) {
    const { page } = driver;
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    await client.projects.put('default', { keepMs: { compensated: 0 } });
    await driver.open('/archive', 'Archive');
    await driver.button('Archive now…').click();
    await driver.button('Archive').click();
    await page.getByText(/^[1-9]\d* due: \d+ archived/).waitFor();
    await driver.button('Close').click();
    await page.getByRole('cell', { name: 'compensated' }).first().waitFor();
    await driver.open(`/executions/${world.compensated}`, 'Archived');
    await driver.checkAccess('an execution that is gone');
    await page.getByRole('link', { name: 'Open it in the archive' }).click();
    await page.getByRole('heading', { name: 'order: compensated' }).waitFor();
    await client.projects.put('default', {});
  },
};

const erases: BrowserCase = {
  name: 'the values of an ended execution are erased with a reason, in the store and in the archive',
  async run({ driver, world, coordinator, archiveFolder }) {
    const { page } = driver;
    const client = new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
    const { id } = await client.executions.submit({ pipeline: 'order', input: { item: 'kayak' } });
    await driver.open(`/executions/${id}`, 'order');
    await page.getByText(/Completed at/).waitFor();
    await driver.button('Erase values…').click();
    await page.getByText('are removed for good').waitFor();
    await driver.checkAccess('the dialog of an erasure');
    await driver.button('Keep values').click();
    await driver.button('Erase values…').click();
    await page.getByLabel(/^Reason/).fill('request 4711');
    await driver.button('Erase values').click();
    await page.locator('.facts').getByText('Erased', { exact: true }).waitFor();
    await driver.button('Erase values…').waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Input & output' }).click();
    await page.getByText('Values were erased', { exact: true }).waitFor();
    assert.equal(await page.getByText('kayak').count(), 0);
    await driver.shoot('erased');
    await page.getByRole('tab', { name: 'Activity' }).click();
    await page.getByRole('tabpanel').getByText('request 4711').waitFor();
    assert.equal(
      await page.getByRole('button', { name: /^Re-drive/ }).count(),
      0,
      'it cannot run again',
    );

    await driver.open(`/archive/${world.archived}`, 'invoice');
    await driver.button('Erase values…').click();
    await page.getByLabel(/^Reason/).fill('request 4712');
    await driver.button('Erase values').click();
    await page.getByText('Values were erased', { exact: true }).waitFor();
    await driver.button('Verify').click();
    await page.getByText(/documents verified, all erased/).waitFor();
    await driver.checkAccess('an erased execution in the archive');
    const files = await readdir(archiveFolder, { recursive: true });
    const text = files.find(
      (each) => each.includes(world.archived) && each.includes('invoice.txt'),
    );
    const erased = await readFile(join(archiveFolder, text ?? 'none'), 'utf8');
    assert.match(erased, /^\{"erased":\{"sha256":"[0-9a-f]{64}"\}\}$/m);
  },
};

export const ARCHIVE_CASES: readonly BrowserCase[] = [browses, runs, erases];
