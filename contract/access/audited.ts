import assert from 'node:assert/strict';
import { type AuditId, DEFAULT_PROJECT, type ProjectName } from '../../src/execution/names.ts';
import type { ProjectSettings } from '../../src/features/access/model.ts';
import type { AuditAction, AuditRecord, AuditStamp } from '../../src/features/audit/model.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { systemRandom } from '../../src/support/random.ts';
import type { AccessCase } from './contract-case.ts';
import { creating, mustAdd, mustRead, OTHER_PROJECT, PROJECT } from './test-keys.ts';

function stamp(action: AuditAction, about?: AuditStamp['about']): AuditStamp {
  const id = systemRandom.uuid() as AuditId;
  return { id, action, actor: 'ann', reason: 'why', ...(about === undefined ? {} : { about }) };
}

async function recordsOf(
  store: CoordinatorStore,
  project: ProjectName = PROJECT,
): Promise<readonly AuditRecord[]> {
  return store.executions.audit({ project, limit: 100 });
}

export const auditedCases: readonly AccessCase[] = [
  {
    upholds: 'J-1, J-2, J-7',
    name: 'putting a project is recorded in that project, with its settings before and after',
    async run({ store }) {
      const put = (settings: ProjectSettings) => {
        const audit = stamp('put-project');
        return store.access.putProject({ name: OTHER_PROJECT, settings, audit });
      };
      const kept = { title: 'a', keepMs: { failed: 1 } };
      assert.deepEqual((await put(kept)).existing, false);
      assert.deepEqual((await put(kept)).existing, true);
      assert.deepEqual((await put({ title: 'b' })).existing, true);
      await store.access.putProject({ name: OTHER_PROJECT, settings: {} });
      const found = await recordsOf(store, OTHER_PROJECT);
      const records = found.toSorted((a, b) => Number(!a.before) - Number(!b.before));
      const recorded = records.map(({ action, target, before, after }) => ({
        action,
        target,
        before,
        after,
      }));
      const target = { kind: 'project', id: OTHER_PROJECT };
      const both = { action: 'put-project', target };
      assert.deepEqual(recorded, [
        { ...both, before: kept, after: { title: 'b' } },
        { ...both, before: undefined, after: kept },
      ]);
      const made = await store.access.project(OTHER_PROJECT);
      assert.equal(records[1]?.at, made?.createdAt);
    },
  },
  {
    upholds: 'J-1, J-7',
    needs: 'two-clients',
    name: 'when a project is changed several times at once, each record begins where another one ended',
    async run({ store, another }) {
      const stores = [store, await another()];
      const put = ({ access }: CoordinatorStore, title: string) =>
        access.putProject({
          ...{ name: OTHER_PROJECT, settings: { title }, audit: stamp('put-project') },
        });
      await put(store, 'first');
      for (let round = 0; round < 6; round += 1) {
        const nths = [1, 2, 3, 4, 5, 6];
        await Promise.all(nths.map((nth) => put(stores[nth % 2] ?? store, `${round} ${nth}`)));
      }
      const titles = (await recordsOf(store, OTHER_PROJECT)).map(
        ({ before }) => (before as ProjectSettings | undefined)?.title,
      );
      assert.deepEqual([titles.length, new Set(titles).size], [37, 37]);
    },
  },
  {
    upholds: 'J-1, J-7',
    name: 'a created key is recorded in its project; a key for all projects, in the default project',
    async run({ store }) {
      const audit = stamp('create-key', { rotates: 'old' });
      const made = await mustAdd(store, { project: PROJECT, expiresInMs: 10, audit });
      const { createdAt } = await mustRead(store, made.id);
      assert.deepEqual(await recordsOf(store), [
        {
          ...{ id: audit.id, at: createdAt, project: PROJECT, actor: 'ann', action: 'create-key' },
          ...{ target: { kind: 'access-key', id: made.id }, reason: 'why' },
          after: { name: 'ci', roles: ['submit'], expiresInMs: 10, rotates: 'old' },
        },
      ]);
      const ofAll = await mustAdd(store, { audit: stamp('recover-key') });
      const [record] = await recordsOf(store, DEFAULT_PROJECT);
      assert.deepEqual([record?.action, record?.target.id], ['recover-key', ofAll.id]);
      assert.equal('audit' in (await mustRead(store, ofAll.id)), false);
    },
  },
  {
    upholds: 'J-2, J-7',
    name: 'a refused or repeated change of a key leaves no record',
    async run({ store }) {
      const audit = stamp('create-key');
      const nowhere = creating({ project: OTHER_PROJECT, audit });
      assert.equal((await store.access.createKey(nowhere)).kind, 'refused');
      const made = await mustAdd(store, { project: PROJECT });
      await store.access.createKey({ ...made, audit });
      await store.access.createKey({ ...made, name: 'other', audit });
      const ending = { id: made.id, project: OTHER_PROJECT, audit: stamp('revoke-key') };
      assert.equal((await store.access.revokeKey(ending)).kind, 'refused');
      for (const project of [PROJECT, OTHER_PROJECT, DEFAULT_PROJECT]) {
        assert.deepEqual(await recordsOf(store, project), []);
      }
    },
  },
  {
    upholds: 'J-1, J-7',
    name: 'a revocation is recorded once, in the key’s project, also if the request does not name it',
    async run({ store }) {
      const made = await mustAdd(store, { project: PROJECT });
      const ended = await store.access.revokeKey({ id: made.id, audit: stamp('revoke-key') });
      const again = await store.access.revokeKey({ id: made.id, audit: stamp('revoke-key') });
      assert.deepEqual([ended.kind, again], ['revoked', { ...ended, changed: false }]);
      const records = await recordsOf(store);
      assert.equal(records.length, 1);
      const { revokedAt } = await mustRead(store, made.id);
      assert.equal(Date.parse(String(records[0]?.after?.['revokedAt'])), revokedAt);
      assert.deepEqual(records[0]?.target, { kind: 'access-key', id: made.id });
    },
  },
];
