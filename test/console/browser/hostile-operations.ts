// Other people write names, reasons and values. Pages show them, run nothing of them, and do not
// break.

import assert from 'node:assert/strict';
import { Holdfast, pipeline, StepError } from '../../../src/index.ts';
import { until } from '../../server/coordinator.ts';
import type { BrowserCase } from './register.ts';

const MARKUP = '"><img src=x onerror=window.hurt=1><script>window.hurt=2</script>';
const TURNED = `\u202e${'very-long-'.repeat(15)}日本語-🍜`;
const REASON = `${MARKUP} javascript:window.hurt=3 ${'long'.repeat(100)}`;

function hostile(name: string) {
  return pipeline({
    name,
    async run(ctx, fails: boolean) {
      await ctx.step(name, () => ({ [name]: MARKUP }));
      if (fails) throw new StepError(REASON, { category: 'permanent', code: name.slice(0, 100) });
      await ctx.await(name, { request: { [name]: MARKUP, link: 'javascript:window.hurt=4' } });
    },
  });
}

const harmless: BrowserCase = {
  name: 'names and values with markup, direction marks or endless text are shown and do nothing',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    const pipelines = [MARKUP, TURNED].map(hostile);
    try {
      await holdfast.worker({ pipelines, owner: MARKUP });
      const ids: string[] = [];
      for (const each of pipelines) {
        const about = { tags: [MARKUP], attributes: { note: MARKUP } };
        const failed = await holdfast.submit(each, true, { ...about, key: `${each.name}/1` });
        await failed.result().catch(() => undefined);
        await holdfast.audit.note(failed.id, { reason: REASON, actor: MARKUP });
        const asking = await holdfast.submit(each, false, about);
        await until(async () => (await holdfast.awaits.list({ execution: asking.id })).items[0]);
        ids.push(failed.id, asking.id);
      }
      const paths = ['executions', 'inbox', 'dead-letters', 'workers', 'audit'];
      for (const path of [...paths, ...ids.map((id) => `executions/${id}`)]) {
        await page.goto(`${driver.url}/console/${path}`);
        await page.getByText('<img src=x').first().waitFor();
        for (const tab of await page.getByRole('tab').all()) await tab.click();
        assert.equal(await page.locator('img, main script').count(), 0, path);
        assert.equal(await page.evaluate('window.hurt'), undefined, path);
        await driver.checkWidth(400);
        await driver.checkTables(path);
      }
    } finally {
      await holdfast.close();
    }
  },
};

const LONG = 'n'.repeat(119);

const narrow: BrowserCase = {
  name: 'names of 119 characters without a space fit a window of 390 pixels on every page',
  async run({ driver, coordinator }) {
    const { page } = driver;
    const holdfast = new Holdfast({ store: coordinator.store });
    const stuck = (): never => {
      throw new StepError(LONG, { category: 'permanent', code: LONG });
    };
    const long = pipeline({
      name: LONG,
      async run(ctx, end: 'asks' | 'fails' | 'blocks' | 'quarantine') {
        const compensate = { run: end === 'quarantine' ? stuck : () => 1, retry: { attempts: 1 } };
        await ctx.step(LONG, () => LONG, { compensate });
        if (end === 'asks') await ctx.await(LONG, { request: { [LONG]: LONG } });
        if (end === 'blocks') throw new TypeError(LONG);
        return stuck();
      },
    });
    try {
      await holdfast.worker({ pipelines: [long], owner: LONG });
      const ids: string[] = [];
      for (const end of ['asks', 'fails', 'blocks', 'quarantine'] as const) {
        const about = { key: `${end}${LONG}`, tags: [LONG], attributes: { [LONG]: LONG } };
        const { id } = await holdfast.submit(long, end, about);
        await until(async () => {
          const { status = 'queued', holds = [] } = (await holdfast.read(id)) ?? {};
          const isDone = !['queued', 'running'].includes(status) || holds.includes('blocked');
          return isDone ? true : undefined;
        });
        ids.push(id);
      }
      await holdfast.schedules.put({ id: LONG, cron: '0 3 * * *', pipeline: LONG });
      const lists = ['executions', 'inbox', 'dead-letters', 'quarantine', 'workers', 'schedules'];
      for (const path of ['', ...lists, ...ids.map((id) => `executions/${id}`)]) {
        await page.goto(`${driver.url}/console/${path}`);
        await page.getByText(LONG).first().waitFor({ state: 'attached' });
        for (const tab of await page.getByRole('tab').all()) {
          await tab.click();
          await driver.checkWidth(390);
        }
        await driver.checkWidth(390, `long-${path.slice(0, 12) || 'overview'}`);
      }
      await holdfast.schedules.remove(LONG);
      for (const id of ids) await holdfast.cancel(id).catch(() => undefined);
    } finally {
      await holdfast.close();
    }
  },
};

export const HOSTILE_CASES: readonly BrowserCase[] = [harmless, narrow];
