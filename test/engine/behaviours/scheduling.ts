import assert from 'node:assert/strict';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

const INVOICE = {
  id: 'invoice',
  version: 1,
  pipeline: 'bill',
  defaults: { currency: 'CHF', days: 30 },
};

export const TEMPLATES: readonly Behaviour[] = [
  {
    name: 'X-31: parameters are laid over the defaults and options over those of the template',
    async run(stage) {
      const bill = pipeline({ name: 'bill', run: (_ctx, input: object) => input });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [bill]);
      const options = { lane: 'batch', tags: ['monthly'], deadlineMs: 60_000 } as const;
      const put = { ...INVOICE, pipeline: bill, ...options };
      assert.deepEqual(await holdfast.templates.put(put), { existing: false });
      assert.deepEqual(await holdfast.templates.put(put), { existing: true });
      const ref = { template: 'invoice' };
      const given = { customer: 7, days: 10, currency: undefined };
      const handle = await holdfast.submit(ref, given, { tags: ['urgent'], by: 'ann' });
      assert.deepEqual(await handle.result(), { currency: 'CHF', days: 10, customer: 7 });
      const record = await holdfast.read(handle.id);
      assert.deepEqual(
        [record?.template, record?.submittedBy, record?.lane, record?.tags, record?.deadlineMs],
        [{ id: 'invoice', version: 1 }, 'ann', 'batch', ['urgent'], 60_000],
      );
      const bare = await holdfast.submit(ref, undefined);
      assert.deepEqual(await bare.result(), INVOICE.defaults);
      await assert.rejects(holdfast.submit(ref, 17), { name: 'InvalidInput' });
    },
  },
  {
    name: 'X-30: a version never changes; get and list show what there is',
    async run(stage) {
      const holdfast = stage.holdfast();
      await holdfast.templates.put({ ...INVOICE, by: 'ann' });
      await assert.rejects(holdfast.templates.put({ ...INVOICE, defaults: {} }), {
        name: 'TemplateRefused',
        code: 'template-conflict',
      });
      await holdfast.templates.put({ ...INVOICE, version: 2, defaults: { currency: 'EUR' } });
      await holdfast.templates.put({ ...INVOICE, id: 'Reminder: 1' });
      const newest = await holdfast.templates.get('invoice');
      assert.deepEqual([newest?.version, newest?.defaults], [2, { currency: 'EUR' }]);
      const first = await holdfast.templates.get('invoice', { version: 1 });
      assert.deepEqual([first?.by, first?.defaults], ['ann', INVOICE.defaults]);
      assert.equal(await holdfast.templates.get('invoice', { project: 'p2' }), undefined);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const from = cursor === undefined ? {} : { cursor };
        const page = await holdfast.templates.list({ limit: 1, ...from });
        seen.push(...page.items.map(({ id, version }) => `${id}/${version}`));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen, ['Reminder: 1/1', 'invoice/2', 'invoice/1']);
      const missing = holdfast.submit({ template: 'invoice', version: 3 }, {});
      await assert.rejects(missing, { name: 'TemplateRefused', code: 'template-unknown' });
      await assert.rejects(holdfast.templates.put({ ...INVOICE, version: 0 }), {
        name: 'InvalidInput',
      });
    },
  },
  {
    name: 'X-31: under one key another version of a template is another intent',
    async run(stage) {
      const holdfast = stage.holdfast();
      await holdfast.templates.put(INVOICE);
      await holdfast.templates.put({ ...INVOICE, version: 2 });
      const submit = (version: number) =>
        holdfast.submit({ template: 'invoice', version }, { customer: 7 }, { key: 'c-7' });
      const { id } = await submit(1);
      const again = await submit(1);
      assert.deepEqual([again.id, again.existing], [id, true]);
      await assert.rejects(submit(2), { name: 'SubmitRefused' });
      const merged = { currency: 'CHF', days: 30, customer: 7 };
      await assert.rejects(holdfast.submit('bill', merged, { key: 'c-7' }), {
        name: 'SubmitRefused',
      });
    },
  },
];

export const SCHEDULING: readonly Behaviour[] = [...TEMPLATES];
