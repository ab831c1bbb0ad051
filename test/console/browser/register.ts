// Every page in a real browser, on a store.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { provideConsole } from '../../../scripts/console/provide.ts';
import { openFolderArchive } from '../../../src/archive/folder.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { TestCoordinator } from '../../server/coordinator.ts';
import { type PrivateChromium, startChromium } from '../../services/chromium.ts';
import { ConsoleDriver } from './console-driver.ts';
import { plantWorld, type World } from './world.ts';

export interface Scene {
  readonly driver: ConsoleDriver;
  readonly world: World;
  readonly coordinator: TestCoordinator;
  readonly archiveFolder: string;
}

export interface BrowserCase {
  readonly name: string;
  run(scene: Scene): Promise<void>;
}

const SECRET = 'a secret of thirty-two bytes, or more';

export function registerBrowser(
  label: string,
  cases: readonly BrowserCase[],
  openStore: () => Promise<CoordinatorStore | undefined>,
): void {
  describe(`the console on ${label}`, () => {
    let browser: PrivateChromium | undefined;
    let coordinator: TestCoordinator | undefined;
    let scene: Scene | undefined;
    let archiveFolder = '';
    before(async () => {
      await provideConsole(() => undefined);
      const store = await openStore();
      archiveFolder = await mkdtemp(join(tmpdir(), 'hf-console-archive-'));
      const archive = openFolderArchive({ folder: archiveFolder });
      const links = { keys: { one: SECRET }, current: 'one' };
      coordinator = await TestCoordinator.open({
        links,
        retention: { archive, keepMs: {} },
        ...(store === undefined ? {} : { store }),
      });
      const world = await plantWorld(coordinator.store, archive);
      browser = await startChromium();
      const driver = await ConsoleDriver.create(browser.context, { url: coordinator.url, label });
      await driver.signIn(coordinator.server.firstKey ?? '');
      scene = { driver, world, coordinator, archiveFolder };
    });
    after(async () => {
      await browser?.stop();
      await scene?.world.close();
      await coordinator?.[Symbol.asyncDispose]();
      await rm(archiveFolder, { recursive: true, force: true });
    });
    for (const each of cases) {
      test(each.name, async () => {
        if (scene === undefined) throw new Error('The browser or its coordinator did not start.');
        await each.run(scene);
        scene.driver.checkNoErrors();
      });
    }
  });
}
