// Values and families as large as users make them.

import assert from 'node:assert/strict';
import { Holdfast, pipeline } from '../../../src/index.ts';
import type { BrowserCase, Scene } from './register.ts';

const LARGE = 5_000;
const MANY = 1_003;

async function spawnMany({ store }: Scene['coordinator']): Promise<readonly [Holdfast, string]> {
  const holdfast = new Holdfast({ store });
  const spawning = pipeline({
    name: 'spawning',
    async run(ctx, _: unknown) {
      await Promise.all(Array.from({ length: MANY }, () => ctx.spawn('nobody-has-this', 1)));
      return ctx.receive('never');
    },
  });
  await holdfast.worker({ pipelines: [spawning] });
  const list = Array.from({ length: 50 }, (_, index) => ({ hidden: `item ${index}` }));
  const { id } = await holdfast.submit(spawning, { outer: { list }, text: 'x'.repeat(LARGE) });
  return [holdfast, id];
}

const large: BrowserCase = {
  name: 'large values and families: closed parts are not drawn, long ones load more, and all can be copied',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const [holdfast, id] = await spawnMany(coordinator);
    try {
      await driver.open(`/executions/${id}`, 'spawning');
      await page.getByRole('tab', { name: 'Input & output' }).click();
      const panel = page.getByRole('tabpanel', { name: 'Input & output' });
      await panel.getByText('[50]').waitFor();
      assert.equal(await panel.getByText('"item').count(), 0);
      await panel.getByText('[50]').click();
      await panel.getByText('0: {1}', { exact: true }).click();
      await panel.getByText('"item 0"').waitFor();
      await panel.getByRole('button', { name: /^Show full text \(5,0/ }).click();
      await panel.getByText(`"${'x'.repeat(LARGE)}"`).waitFor();
      await page.getByRole('tab', { name: 'Related' }).click();
      await page.getByText('1,000+ children').waitFor();
      await page.getByRole('group', { name: 'Children' }).evaluate(scrollDown);
      await page.getByText('1,003 children', { exact: true }).waitFor();
      await driver.checkAccess('a large family');
      // As at an address that browsers do not trust, where they offer no clipboard.
      await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`);
      await driver.button('Copy ID').click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
    } finally {
      await holdfast.close();
    }
  },
};

function scrollDown(element: { scrollTop: number; readonly scrollHeight: number }): void {
  element.scrollTop = element.scrollHeight;
}

/** This leaves many executions behind. */
export const LARGE_CASES: readonly BrowserCase[] = [large];
