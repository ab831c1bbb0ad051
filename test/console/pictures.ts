// npm run pictures: takes the pictures of docs/images again, of the console of these sources.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideConsole } from '../../scripts/console/provide.ts';
import { startIncidents } from '../../scripts/incidents/incidents.ts';
import { openFolderArchive } from '../../src/archive/folder.ts';
import { TestCoordinator } from '../server/coordinator.ts';
import { startChromium } from '../services/chromium.ts';
import { ConsoleDriver } from './browser/console-driver.ts';
import { plantWorld } from './browser/world.ts';
import { withPalette } from './palette-png.ts';

const IMAGES = join(import.meta.dirname, '../../docs/images');

await provideConsole(console.log);
const browser = await startChromium();
const folder = await mkdtemp(join(tmpdir(), 'holdfast-pictures-'));
try {
  await takeExecutions();
  await takeOverview();
} finally {
  await browser.stop();
  await rm(folder, { recursive: true, force: true });
}

async function signedIn(coordinator: TestCoordinator): Promise<ConsoleDriver> {
  await browser.context.clearCookies();
  const at = { url: coordinator.url, label: 'pictures' };
  const driver = await ConsoleDriver.create(browser.context, at);
  await driver.signIn(coordinator.server.firstKey ?? '');
  return driver;
}

async function take({ page }: ConsoleDriver, name: string): Promise<void> {
  const blank = await browser.context.newPage();
  const picture = await withPalette(blank, await page.screenshot());
  await blank.close();
  await writeFile(join(IMAGES, `${name}.png`), picture);
  console.log(`docs/images/${name}.png: ${picture.length} bytes`);
}

async function takeExecutions(): Promise<void> {
  await using coordinator = await TestCoordinator.open();
  const world = await plantWorld(coordinator.store, openFolderArchive({ folder }));
  const driver = await signedIn(coordinator);
  const { page } = driver;
  await driver.open(`/executions/${world.takenOver}?event=refused`, 'slow');
  await page.getByText(/The store refused the write, and nothing was changed/).waitFor();
  await page.getByRole('cell', { name: 'Late write refused' }).waitFor();
  await take(driver, 'refused');
  await driver.open(`/executions/${world.checkout}`, 'checkout');
  await page.locator('.line', { hasText: 'reserve-stock' }).first().click();
  await page.getByRole('tab', { name: 'Attempts 3' }).click();
  await page.getByText('3 Succeeded', { exact: true }).waitFor();
  await take(driver, 'undone');
  await world.close();
}

async function takeOverview(): Promise<void> {
  await using coordinator = await TestCoordinator.open();
  const { url, server } = coordinator;
  const running = await startIncidents({ url, key: server.firstKey ?? '' });
  const driver = await signedIn(coordinator);
  await driver.theme('dark');
  for (const text of ['No worker serves resize-image', 'invoice is failing in release v2']) {
    await driver.page.getByText(text).waitFor();
  }
  await driver.page.getByText('Healthy').waitFor();
  await take(driver, 'overview');
  await running.close();
}
