// Who reads is not alone: what others do meanwhile must not be done to the wrong thing.

import assert from 'node:assert/strict';
import { ROLES } from '../../../src/access/role.ts';
import { HoldfastClient } from '../../../src/client/client.ts';
import type { BrowserCase, Scene } from './register.ts';

async function clientOf({ coordinator }: Pick<Scene, 'coordinator'>): Promise<HoldfastClient> {
  return new HoldfastClient({ url: coordinator.url, key: await coordinator.key(ROLES) });
}

/** An execution that asks, and the id of what it asks. */
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
  name: 'the question under the eyes of whoever answers stays, whatever is asked or answered meanwhile',
  async run({ desk, coordinator }) {
    const { page } = desk;
    const client = await clientOf({ coordinator });
    const [, first] = await asking(client, 'kettle');
    await desk.open('/inbox', 'Inbox');
    const question = page.getByRole('region', { name: 'The question' });
    await question.getByText('"kettle"').waitFor();
    await question.getByLabel(/^Answer/).fill('"half an ans');
    const [, second] = await asking(client, 'spoon');
    await page.getByText(/^3 open questions/).waitFor();
    await question.getByText('"kettle"').waitFor();
    assert.equal(await question.getByLabel(/^Answer/).inputValue(), '"half an ans');
    await client.awaits.answer(first, 'somebody else was faster');
    await question.getByText('It is not open any more').waitFor();
    assert.equal(await desk.button('Answer').count(), 0, 'nothing can be said to another question');
    await desk.checkAccess('a question that is over');
    await desk.button('Next question').click();
    await question.getByText('"spoon"').waitFor();
    await question.getByLabel(/^Answer/).fill('"mine"');
    await desk.button('Answer').click();
    await page.getByText('Your answer is kept').waitFor();
    const { answer } = await client.awaits.read(second);
    assert.equal(answer?.value, 'mine');
  },
};

const neverMore: BrowserCase = {
  name: 'what a list leaves out is not driven again with what is in it',
  async run({ desk }) {
    const { page } = desk;
    const redrive = desk.button('Re-drive all…');
    const lists: readonly (readonly [query: string, offers: number])[] = [
      ['status=quarantined', 0],
      ['status=failed', 0],
      ['status=failed&status=quarantined&tag=planted', 0],
      ['status=failed&status=quarantined', 1],
    ];
    for (const [query, offers] of lists) {
      await desk.open(`/executions?${query}`, 'Executions');
      await page.getByRole('table', { name: 'Executions' }).waitFor();
      assert.equal(await redrive.count(), offers, query);
    }
    await redrive.click();
    await desk.button('Count them first').click();
    await page.getByText('This concerns 4 dead letters, as of now.').waitFor();
  },
};

const looksFurther: BrowserCase = {
  name: 'nothing is said to be fine that was not looked at: who is quarantined may be behind many others',
  async run({ desk }) {
    const { page } = desk;
    const pages = /\/v1\/dead-letters\?open=true&limit=\d+/;
    await page.route(pages, (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/limit=\d+/, 'limit=1'),
      }),
    );
    await desk.open('/quarantine', 'Quarantine');
    const further = desk.button('Look further');
    const found = page.getByText(/Undoing failed for good/);
    await further.waitFor();
    assert.equal(await found.count(), 0);
    await desk.checkAccess('a quarantine that was not looked through');
    while ((await found.count()) === 0) await further.click();
    await page.unroute(pages);
  },
};

export const READER_CASES: readonly BrowserCase[] = [keepsQuestion, neverMore, looksFurther];
