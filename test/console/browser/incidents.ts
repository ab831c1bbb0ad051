// The four incidents of `npm run incidents`, found from the overview and repaired in the console alone.

import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { INCIDENTS, type Incident, startIncidents } from '../../../scripts/incidents/incidents.ts';
import { ROLES } from '../../../src/features/access/model.ts';
import { until } from '../../server/coordinator.ts';
import type { BrowserCase } from './register.ts';

/** The most clicks that a repair may take, with the ones that find it. */
const CLICKS_MAX: Readonly<Record<Incident, number>> = {
  ...{ 'bad deploy': 6, 'dead worker': 1, 'stuck question': 3, 'failing vendor': 4 },
};

const incidents: BrowserCase = {
  name: 'a bad deploy, a dead worker, a stuck question and a failing vendor are found and repaired',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const key = await coordinator.key(ROLES, 'incidents');
    const running = await startIncidents({ url: coordinator.url, key });
    const clicks = { count: 0 };
    const click = async (target: Locator): Promise<void> => {
      await target.click();
      clicks.count += 1;
    };
    const concern = (title: string): Locator =>
      page
        .getByRole('region', { name: 'Needs attention' })
        .getByRole('listitem')
        .filter({ hasText: title });
    const used = new Map<Incident, number>();
    const repaired = async (name: Incident): Promise<void> => {
      await until(async () => ((await running.open()).includes(name) ? undefined : name));
      used.set(name, clicks.count);
      clicks.count = 0;
      await driver.open('/', 'Overview');
    };
    const redrive = async (code: string, reason: string): Promise<void> => {
      const cause = page.getByRole('listitem').filter({ hasText: code });
      await click(cause.getByRole('button', { name: /^Re-drive \d+ dead letters?…$/ }));
      await page.getByLabel(/^Reason/).fill(reason);
      await click(page.getByRole('button', { name: /^Re-drive \d+ dead letters$/ }));
      await driver.heading('Bulk re-drive').waitFor();
    };
    try {
      await page.context().clearCookies();
      await driver.signIn(key);
      assert.deepEqual(await running.open(), INCIDENTS);

      await click(concern('invoice is failing in release v2').getByRole('link'));
      await page.getByText('6 ended in the last hour, 100 % failed').waitFor();
      await click(driver.button('Roll back…'));
      await page.getByLabel(/^Reason/).fill('v2 reads a wrong name');
      await click(page.getByRole('dialog').getByRole('button', { name: /^Roll back/ }));
      await page.getByText('New executions go to v1.').waitFor();
      await page.getByText('6 open dead letters of invoice.').waitFor();
      await click(page.getByRole('link', { name: 'Re-drive in Dead letters' }));
      await redrive('TypeError', 'back on v1');
      await repaired('bad deploy');

      await concern('No worker serves resize-image')
        .filter({ hasText: 'last served by resizer@host-7, seen' })
        .waitFor();
      await concern('invoice is failing').waitFor({ state: 'detached' });
      await click(concern('No worker serves resize-image').getByRole('link'));
      const queued = page.getByRole('row').filter({ hasText: 'resize-image' });
      await queued.getByText('No worker serves it').nth(3).waitFor();
      await driver.open('/', 'Overview');
      await running.restartWorker();
      await concern('No worker serves resize-image').waitFor({ state: 'detached' });
      await repaired('dead worker');

      await click(concern('1 request without an answer').getByRole('link'));
      await page.getByText('Arrived broken').first().waitFor();
      await driver.button('Submit').click();
      await page.getByText('Type an answer. To send an empty one, type null.').waitFor();
      await driver.button('Submit').hover();
      await driver.checkAccess('a blank answer, with the pointer on the button');
      await page.getByLabel(/^Answer/).fill('true');
      await click(driver.button('Submit'));
      await repaired('stuck question');

      running.endOutage();
      await click(concern('courier-503').getByRole('link'));
      await redrive('courier-503', 'the courier is back');
      await repaired('failing vendor');

      for (const name of INCIDENTS) {
        const count = used.get(name) ?? Number.NaN;
        assert.ok(count <= CLICKS_MAX[name], `${name}: ${count} clicks`);
      }
    } finally {
      await running.close();
      await page.context().clearCookies();
      await driver.signIn(await coordinator.key(ROLES));
    }
  },
};

export const INCIDENT_CASES: readonly BrowserCase[] = [incidents];
