import assert from 'node:assert/strict';
import { parseProject } from '../../src/execution/names.ts';
import type { Project } from '../../src/features/access/model.ts';
import type { AccessCase } from './contract-case.ts';
import { OTHER_PROJECT, PROJECT } from './test-keys.ts';

export const projectCases: readonly AccessCase[] = [
  {
    upholds: 'P-1, P-7',
    name: 'a project is read back as it was put, with the store’s time',
    async run({ store, now }) {
      const settings = { title: 'Der Läden', keepMs: { completed: 86_400_000, failed: 0 } };
      const full = { name: PROJECT, settings };
      const bare = { name: OTHER_PROJECT, settings: {} };
      for (const each of [full, bare]) {
        assert.equal(await store.access.project(each.name), undefined);
        const result = await store.access.putProject(each);
        assert.deepEqual(result, { kind: 'put', existing: false });
        assert.deepEqual(await store.access.project(each.name), { ...each, createdAt: now() });
      }
      assert.equal(await store.access.project(parseProject('Shop')), undefined);
    },
  },
  {
    upholds: 'P-1',
    name: 'putting a project again replaces all its settings and keeps its time of creation',
    async run({ store, advance, now }) {
      const { access } = store;
      const createdAt = now();
      await access.putProject({ name: PROJECT, settings: { title: 'a', keepMs: { failed: 1 } } });
      await access.putProject({ name: OTHER_PROJECT, settings: { title: 'not this one' } });
      await advance(5);
      const settings = { keepMs: { cancelled: 2 } };
      const again = await access.putProject({ name: PROJECT, settings });
      assert.deepEqual(again, { kind: 'put', existing: true });
      assert.deepEqual(await access.project(PROJECT), { name: PROJECT, createdAt, settings });
      assert.equal((await access.project(OTHER_PROJECT))?.settings.title, 'not this one');
    },
  },
  {
    upholds: 'P-1',
    name: 'a caller that changes its settings or a returned project does not change the stored project',
    async run({ store }) {
      const settings = { title: 'before', keepMs: { failed: 1 } };
      const put = store.access.putProject({ name: PROJECT, settings });
      settings.title = 'after';
      settings.keepMs.failed = 2;
      await put;
      const kept = { title: 'before', keepMs: { failed: 1 } };
      const stored = await store.access.project(PROJECT);
      assert.deepEqual(stored?.settings, kept);
      Object.assign(stored.settings, { title: 'after' });
      assert.deepEqual((await store.access.project(PROJECT))?.settings, kept);
    },
  },
  {
    upholds: 'P-1',
    needs: 'two-clients',
    name: 'when a project is put several times at once, one request creates it, and a later put replaces its settings',
    async run({ store, another }) {
      const stores = [store, await another()];
      for (let round = 0; round < 6; round += 1) {
        const name = parseProject(`project ${round}`);
        const results = await Promise.all(
          Array.from({ length: 6 }, (_, nth) =>
            (stores[nth % 2] ?? store).access.putProject({ name, settings: { title: `${nth}` } }),
          ),
        );
        assert.equal(results.filter(({ existing }) => !existing).length, 1);
        const last = { name, settings: { title: 'last' } };
        assert.equal((await store.access.putProject(last)).existing, true);
        assert.equal((await stores[1]?.access.project(name))?.settings.title, 'last');
      }
    },
  },
  {
    upholds: 'P-2',
    name: 'projects are listed by name, page by page, each once',
    async run({ store }) {
      const { access } = store;
      const sorted = ['B', 'a', 'a b', 'a-b', 'ä', '\uff5e', '\u{1f600}'].map(parseProject);
      for (const name of sorted.toReversed()) await access.putProject({ name, settings: {} });
      for (const limit of [1, 2, 100]) {
        const seen: Project[] = [];
        for (;;) {
          const last = seen.at(-1);
          const after = last === undefined ? {} : { after: last.name };
          const page = await access.projects({ limit, ...after });
          assert.ok(page.length <= limit);
          if (page.length === 0) break;
          seen.push(...page);
        }
        assert.deepEqual(
          seen.map(({ name }) => name),
          sorted,
        );
      }
    },
  },
];
