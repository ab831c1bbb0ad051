import assert from 'node:assert/strict';
import type { PutTemplate } from '../../../src/features/templates/port.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectWhy } from '../expect.ts';
import { mustRead, mustSubmit, OTHER_PROJECT, PIPELINE, PROJECT, payload } from '../worker.ts';

function template(options: Partial<PutTemplate> = {}): PutTemplate {
  return {
    project: PROJECT,
    id: 'invoice',
    version: 1,
    pipeline: PIPELINE,
    defaults: payload({ v: { currency: 'CHF' } }),
    digest: 'one',
    ...options,
  };
}

export const templateCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-30',
    name: 'a template is read back as it was put, with the time, and omitted fields are absent',
    async run({ store, now }) {
      const full = template({
        lane: 'batch',
        tags: ['näme', 'eu'],
        deadlineMs: 5_000,
        concurrency: { key: 'k', limit: 2 },
        rate: { key: 'r', limit: 3, perMs: 1_000 },
        actor: 'ann',
      });
      const bare = template({ id: 'bare' });
      for (const each of [full, bare]) {
        const result = await store.executions.putTemplate(each);
        assert.deepEqual(result, { kind: 'put', existing: false });
        const { project, id, version } = each;
        const read = await store.executions.template({ project, id, version });
        assert.deepEqual(read, { ...each, createdAt: now() });
      }
    },
  },
  {
    upholds: 'X-30',
    name: 'a version never changes: repeating its content is harmless, other content is a conflict',
    async run({ store, advance, now }) {
      const at = now();
      await store.executions.putTemplate(template());
      await advance(5);
      // A codec never encodes the same defaults to the same bytes, so the digest decides.
      const again = template({ defaults: payload({ enc: 'x' }), actor: 'bob' });
      assert.deepEqual(await store.executions.putTemplate(again), { kind: 'put', existing: true });
      const other = await store.executions.putTemplate(template({ digest: 'two' }));
      expectWhy(other, 'template-conflict');
      const stored = await store.executions.template({ project: PROJECT, id: 'invoice' });
      assert.deepEqual(stored, { ...template(), createdAt: at });
    },
  },
  {
    upholds: 'X-30, X-21, X-81',
    name: 'a read without a version returns the newest version in the project',
    async run({ store }) {
      const { executions } = store;
      for (const version of [2, 10, 1]) {
        expectKind(await executions.putTemplate(template({ version })), 'put');
      }
      const elsewhere = template({ project: OTHER_PROJECT, version: 99, digest: 'else' });
      expectKind(await executions.putTemplate(elsewhere), 'put');
      const read = async (query: { readonly id?: string; readonly version?: number }) =>
        (await executions.template({ project: PROJECT, id: 'invoice', ...query }))?.version;
      assert.deepEqual(
        [await read({}), await read({ version: 2 }), await read({ version: 99 })],
        [10, 2, undefined],
      );
      assert.equal(await read({ id: 'other' }), undefined);
    },
  },
  {
    upholds: 'X-30, X-21, X-81',
    name: 'templates are listed by id and by newest version, page by page',
    async run({ store }) {
      const { executions } = store;
      for (const [id, version] of [
        ...(['b', 'a', '\u{1f600}', '\uff5e'] as const).map((each) => [each, 1] as const),
        ...([2, 11] as const).map((each) => ['a', each] as const),
      ]) {
        expectKind(await executions.putTemplate(template({ id, version })), 'put');
      }
      await executions.putTemplate(template({ project: OTHER_PROJECT, id: 'z' }));
      const expected = ['a 11', 'a 2', 'a 1', 'b 1', '\uff5e 1', '\u{1f600} 1'];
      for (const limit of [1, 2, 100]) {
        const seen: string[] = [];
        let after: { readonly id: string; readonly version: number } | undefined;
        for (;;) {
          const cursor = after === undefined ? {} : { after };
          const page = await executions.templates({ project: PROJECT, limit, ...cursor });
          assert.ok(page.length <= limit);
          seen.push(...page.map(({ id, version }) => `${id} ${version}`));
          after = page.at(-1);
          if (after === undefined) break;
        }
        assert.deepEqual(seen, expected);
      }
      const after = { id: 'a', version: 11 };
      const one = await executions.templates({ project: PROJECT, id: 'a', after, limit: 9 });
      assert.deepEqual(
        one.map(({ version }) => version),
        [2, 1],
      );
    },
  },
  {
    upholds: 'X-30',
    needs: 'two-clients',
    name: 'when two contents are put under one version at once, one wins and the other conflicts',
    async run({ store, another }) {
      const other = await another();
      for (let version = 1; version <= 6; version += 1) {
        const digests = ['a', 'b', 'a', 'b', 'a', 'b'];
        const results = await Promise.all(
          digests.map((digest, nth) =>
            (nth % 2 === 0 ? store : other).executions.putTemplate(template({ version, digest })),
          ),
        );
        const fresh = results.filter((result) => result.kind === 'put' && !result.existing);
        assert.equal(fresh.length, 1);
        const winners = digests.filter((_, nth) => results[nth]?.kind === 'put');
        assert.deepEqual([winners.length, new Set(winners).size], [3, 1]);
      }
    },
  },
  {
    upholds: 'X-31, X-82',
    name: 'an execution has its template, its version and the caller who submitted it',
    async run({ store }) {
      const by = { template: { id: 'invoice', version: 3 }, submittedBy: 'ann' };
      const stored = await mustRead(store, await mustSubmit(store, by));
      assert.deepEqual([stored.template, stored.submittedBy], [by.template, 'ann']);
    },
  },
];
