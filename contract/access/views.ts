import assert from 'node:assert/strict';
import type { AuditId } from '../../src/execution/names.ts';
import type { AuditAction, AuditStamp } from '../../src/features/audit/model.ts';
import type { PutView } from '../../src/features/views/port.ts';
import { systemRandom } from '../../src/support/random.ts';
import type { AccessCase } from './contract-case.ts';
import { OTHER_PROJECT, PROJECT } from './test-keys.ts';

const LATE: PutView = {
  ...{ project: PROJECT, id: 'late', name: 'Läte orders', page: 'executions' },
  ...{ query: 'status=waiting&where=a%3E%3D1', savedBy: 'ann' },
};

function stamp(action: AuditAction): AuditStamp {
  return { id: systemRandom.uuid() as AuditId, action, actor: 'ann', reason: '' };
}

export const viewCases: readonly AccessCase[] = [
  {
    upholds: 'P-7, P-19',
    name: 'a saved view is read back as it was put, and replaced by other content only',
    async run({ store, advance, now }) {
      const { access } = store;
      const { project: _, ...content } = LATE;
      assert.deepEqual(await access.putView(LATE), { kind: 'put', changed: true });
      const first = now();
      await advance(5);
      assert.deepEqual(await access.putView({ ...LATE, savedBy: 'bob' }), {
        ...{ kind: 'put', changed: false },
      });
      const list = () => access.views({ project: PROJECT, limit: 10 });
      assert.deepEqual(await list(), [{ ...content, savedAt: first }]);
      for (const change of [{ name: 'New' }, { page: 'audit' }, { query: '' }]) {
        await advance(5);
        const { savedBy: _by, ...changed } = { ...LATE, ...change };
        assert.deepEqual(await access.putView(changed), { kind: 'put', changed: true });
        assert.deepEqual(await list(), [
          {
            id: 'late',
            name: LATE.name,
            page: LATE.page,
            query: LATE.query,
            ...change,
            savedAt: now(),
          },
        ]);
        await access.putView(LATE);
      }
    },
  },
  {
    upholds: 'P-19',
    name: 'saved views are listed by id, page by page, in their project, and for one page of the console',
    async run({ store }) {
      const { access } = store;
      for (const id of ['b', 'a', 'd', 'c']) {
        await access.putView({ ...LATE, id, page: id === 'd' ? 'audit' : 'executions' });
      }
      await access.putView({ ...LATE, project: OTHER_PROJECT, id: 'x', name: 'not this one' });
      const ids = async (query: object, limit = 2): Promise<string> =>
        (await access.views({ project: PROJECT, limit, ...query })).map(({ id }) => id).join('');
      assert.equal(await ids({}), 'ab');
      assert.equal(await ids({ after: 'b' }), 'cd');
      assert.equal(await ids({ page: 'executions' }, 9), 'abc');
      assert.equal(await ids({ page: 'executions', after: 'b' }), 'c');
      assert.equal(await ids({ page: 'audit' }), 'd');
    },
  },
  {
    upholds: 'J-1, J-2, P-19',
    name: 'a view is removed in its own project only; its audit has each change once, with the facts before and after',
    async run({ store }) {
      const { access, executions } = store;
      const remove = (project = PROJECT) =>
        access.removeView({ project, id: 'late', audit: stamp('remove-view') });
      await access.putView({ ...LATE, audit: stamp('put-view') });
      await access.putView({ ...LATE, audit: stamp('put-view') });
      await access.putView({ ...LATE, name: 'Renamed', audit: stamp('put-view') });
      assert.deepEqual(await remove(OTHER_PROJECT), { kind: 'no-change' });
      assert.deepEqual(await remove(), { kind: 'done' });
      assert.deepEqual(await remove(), { kind: 'no-change' });
      assert.deepEqual(await access.views({ project: PROJECT, limit: 9 }), []);
      const { name, page, query } = LATE;
      const renamed = { name: 'Renamed', page, query };
      const records = await executions.audit({ project: PROJECT, limit: 9 });
      const facts = records.map(({ action, target, before, after }) =>
        JSON.stringify([action, target, before ?? null, after ?? null]),
      );
      const target = { kind: 'view', id: 'late' };
      const expected = [
        ['put-view', target, null, { name, page, query }],
        ['put-view', target, { name, page, query }, renamed],
        ['remove-view', target, renamed, null],
      ];
      assert.deepEqual(facts.toSorted(), expected.map((each) => JSON.stringify(each)).toSorted());
      assert.deepEqual(await executions.audit({ project: OTHER_PROJECT, limit: 9 }), []);
    },
  },
  {
    upholds: 'P-14, P-15, P-19',
    needs: 'two-clients',
    name: 'views that several clients save at once do not exceed the quota; saved ones can still change',
    async run({ store, another }) {
      const stores = [store, await another()];
      const put = (nth: number, more: Partial<PutView> = {}) =>
        (stores[nth % 2] ?? store).access.putView({ ...LATE, id: `v${nth}`, quota: 5, ...more });
      const nths = Array.from({ length: 12 }, (_, nth) => nth);
      const results = await Promise.all(nths.map((nth) => put(nth)));
      const views = await store.access.views({ project: PROJECT, limit: 99 });
      assert.deepEqual([results.filter(({ kind }) => kind === 'put').length, views.length], [5, 5]);
      const nth = Number(views[0]?.id.slice(1));
      assert.deepEqual(await put(nth, { name: 'Renamed' }), { kind: 'put', changed: true });
      const refusal = { kind: 'refused', why: 'over-quota', project: PROJECT, quota: 'views' };
      assert.deepEqual(await put(99), { ...refusal, limit: 5 });
      assert.equal((await put(99, { project: OTHER_PROJECT })).kind, 'put');
      await store.access.putProject({ name: PROJECT, settings: { quotas: { views: 6 } } });
      assert.equal((await put(99)).kind, 'put');
      assert.deepEqual(await put(98), { ...refusal, limit: 6 });
    },
  },
];
