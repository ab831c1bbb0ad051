// The delivery log of a channel, and the buttons that send messages again.

import assert from 'node:assert/strict';
import { parseProject } from '../../../src/execution/names.ts';
import { systemRandom } from '../../../src/support/random.ts';
import type { BrowserCase } from './register.ts';

const replays: BrowserCase = {
  name: 'a channel shows its messages with their last error, and replays one or all that failed',
  async run({ driver, coordinator: { store } }) {
    const { page } = driver;
    const { access } = store;
    const named = { project: parseProject('default'), id: 'hooks' };
    const uid = systemRandom.uuid();
    await access.putChannel({
      ...{ ...named, uid, kind: 'webhook', url: 'https://example.com/hooks', paused: false },
      ...{ events: ['execution-ended'], secret: { key: 'k1', nonce: 'a' } },
    });
    for (const message of ['test_one', 'test_two', 'test_three']) {
      await access.testChannel({ ...named, message });
    }
    const claimed = await access.claimDeliveries({ uid, limit: 3, leaseMs: 60_000 });
    assert.ok(claimed !== undefined);
    await access.recordDeliveries({
      ...{ channel: { uid }, failures: 3, cooldownMs: 1, pauses: false },
      attempts: claimed.deliveries.map(({ id, attempts, at }) => ({
        ...{ id, attempts, failed: 10, state: 'failed' },
        log: [{ at, ms: 7, status: 500, error: 'the receiver responded with status 500' }],
      })),
    });
    await driver.open('/channels', 'Channels');
    await page.getByRole('row').filter({ hasText: 'https://example.com/hooks' }).waitFor();
    await page.getByRole('link', { name: 'hooks', exact: true }).click();
    const row = (id: string) => page.getByRole('row').filter({ hasText: id });
    await row('test_one').getByText('the receiver responded with status 500').waitFor();
    await row('test_two').getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('button', { name: 'Replay message' }).click();
    await row('test_two').getByText('Pending').waitFor();
    await row('test_one').getByText('Failed').waitFor();
    await page.getByLabel('State').selectOption('failed');
    await row('test_two').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Replay failed…' }).click();
    await page.getByRole('button', { name: 'Replay failed messages' }).click();
    await page.getByText('No messages').waitFor();
    const log = await access.deliveries({ ...named, limit: 9 });
    assert.deepEqual(
      log.map(({ state }) => state),
      ['pending', 'pending', 'pending'],
    );
    await access.removeChannel(named);
  },
};

export const CHANNEL_CASES: readonly BrowserCase[] = [replays];
