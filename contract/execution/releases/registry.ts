import assert from 'node:assert/strict';
import { contractVersion } from '../../../src/features/releases/contract-model.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { nextId, OTHER_PIPELINE, OTHER_PROJECT, PIPELINE, PROJECT } from '../worker.ts';
import { mustChange, mustRegister, NARROWER, refusedBy, registering } from './releasing.ts';

const KEY = { project: PROJECT, pipeline: PIPELINE };

export const registryCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-3',
    name: 'a release is read back as registered, with the time; repeating is harmless, a difference is refused',
    async run({ store, now, advance }) {
      const { executions } = store;
      const at = now();
      const first = await executions.registerRelease(registering('v1'));
      assert.deepEqual(first, { kind: 'registered', existing: false });
      await advance(5);
      const again = await executions.registerRelease(registering('v1', { createdBy: 'bob' }));
      assert.deepEqual(again, { kind: 'registered', existing: true });
      const others = {
        artifact: { artifact: 'other' },
        digest: { digest: 'sha256:other' },
        contract: { contract: NARROWER, contractVersion: contractVersion(NARROWER) },
      };
      for (const [part, options] of Object.entries(others)) {
        const result = await executions.registerRelease(registering('v1', options));
        assert.equal(refusedBy(result, 'release-differs')['part'], part);
      }
      const stored = await executions.release({ ...KEY, name: 'v1' });
      assert.deepEqual(stored, { ...registering('v1'), createdAt: at });
      assert.equal(await executions.release({ ...KEY, name: 'v2' }), undefined);
      assert.equal(
        await executions.release({ project: OTHER_PROJECT, pipeline: PIPELINE, name: 'v1' }),
        undefined,
      );
    },
  },
  {
    upholds: 'RE-3',
    name: 'a release keeps its further artifacts; the same again is harmless, others are refused',
    async run({ store, now }) {
      const { executions } = store;
      const mailer = { name: 'mailer', digest: 'sha256:mailer', size: 48 };
      const tools = { ...mailer, name: 'tools', url: 'oci://shop/tools', mediaType: 'a/b' };
      const build = registering('v1', { artifacts: [mailer, tools] });
      const first = await executions.registerRelease(build);
      assert.deepEqual(first, { kind: 'registered', existing: false });
      const again = await executions.registerRelease(build);
      assert.deepEqual(again, { kind: 'registered', existing: true });
      const others = [[], [mailer], [mailer, { ...tools, size: 49 }]];
      for (const options of [{}, ...others.map((artifacts) => ({ artifacts }))]) {
        const result = await executions.registerRelease(registering('v1', options));
        assert.equal(refusedBy(result, 'release-differs')['part'], 'artifact');
      }
      const stored = await executions.release({ ...KEY, name: 'v1' });
      assert.deepEqual(stored, { ...build, createdAt: now() });
      assert.deepEqual((await executions.releases({ ...KEY, limit: 9 }))[0], stored);
    },
  },
  {
    upholds: 'RE-3',
    needs: 'two-clients',
    name: 'when two builds register under one name at once, one wins and the other is refused',
    async run({ store, another }) {
      const other = await another();
      for (let round = 1; round <= 5; round += 1) {
        const digests = ['a', 'b', 'a', 'b', 'a', 'b'];
        const results = await Promise.all(
          digests.map((digest, nth) =>
            (nth % 2 === 0 ? store : other).executions.registerRelease(
              registering(`v${round}`, { digest }),
            ),
          ),
        );
        const fresh = results.filter((each) => each.kind === 'registered' && !each.existing);
        assert.equal(fresh.length, 1);
        const winners = digests.filter((_, nth) => results[nth]?.kind === 'registered');
        assert.deepEqual([winners.length, new Set(winners).size], [3, 1]);
      }
    },
  },
  {
    upholds: 'RE-3',
    name: 'a release keeps its last preflight, and a preflight of an unknown release is refused',
    async run({ store, now, advance }) {
      const { executions } = store;
      await mustRegister(store, 'v1');
      const preflight = { changes: [], open: 3, replayed: 2, broken: [], brokenCount: 0 };
      const key = { ...KEY, name: 'v1' };
      await executions.notePreflight({ ...key, preflight });
      await advance(7);
      const second = { ...preflight, replayed: 3 };
      expectKind(await executions.notePreflight({ ...key, preflight: second }), 'noted');
      assert.deepEqual((await executions.release(key))?.preflight, { ...second, at: now() });
      const unknown = await executions.notePreflight({ ...KEY, name: 'v2', preflight });
      refusedBy(unknown, 'release-unknown');
    },
  },
  {
    upholds: 'RE-10, RE-20',
    name: 'a partial preflight keeps earlier findings about open executions that it skipped; a full one replaces them',
    async run({ store, now }) {
      const { executions } = store;
      await mustRegister(store, 'v1');
      const key = { ...KEY, name: 'v1' };
      const broken = [nextId(), nextId(), nextId()].map((execution) => ({ execution, why: 'a' }));
      const [first, second, third] = broken.map(({ execution }) => execution);
      assert(first !== undefined && second !== undefined && third !== undefined);
      const found = { changes: [], open: 3, replayed: 3, broken, brokenCount: 3 };
      await executions.notePreflight({ ...key, preflight: found });
      const fine = { ...found, broken: [], brokenCount: 0, replayed: 1 };
      const noted = await executions.notePreflight({
        ...{ ...key, preflight: fine, unseen: [second, nextId()] },
      });
      const kept = { ...fine, replayed: 2, broken: broken.slice(1, 2), brokenCount: 1 };
      assert.deepEqual(noted, { kind: 'noted', preflight: kept });
      assert.deepEqual((await executions.release(key))?.preflight, { ...kept, at: now() });
      await executions.notePreflight({ ...key, preflight: fine, unseen: [] });
      assert.deepEqual((await executions.release(key))?.preflight, { ...fine, at: now() });
    },
  },
  {
    upholds: 'RE-3',
    name: 'releases are listed newest first, page by page, for one project and optionally one pipeline',
    async run({ store, advance }) {
      const { executions } = store;
      for (const name of ['b', 'a', 'c']) {
        await mustRegister(store, name);
        await mustRegister(store, name, { pipeline: OTHER_PIPELINE });
        await advance(1);
      }
      await mustRegister(store, 'z', { project: OTHER_PROJECT });
      const expected = ['c reports', 'c orders', 'a reports', 'a orders', 'b reports', 'b orders'];
      for (const limit of [1, 2, 100]) {
        const seen: string[] = [];
        for (let before = undefined as Parameters<typeof executions.releases>[0]['before']; ; ) {
          const from = before === undefined ? {} : { before };
          const page = await executions.releases({ project: PROJECT, limit, ...from });
          seen.push(...page.map(({ name, pipeline }) => `${name} ${pipeline}`));
          before = page.at(-1);
          if (before === undefined) break;
        }
        assert.deepEqual(seen, expected);
      }
      const own = await executions.releases({ ...KEY, limit: 9 });
      assert.deepEqual(
        own.map(({ name }) => name),
        ['c', 'a', 'b'],
      );
    },
  },
  {
    upholds: 'RE-3',
    name: 'a list of releases ends at a limit of bytes, after at least one',
    async run({ store, advance }) {
      const { executions } = store;
      for (const name of ['a', 'b', 'c']) {
        await mustRegister(store, name);
        await advance(1);
      }
      const [stored] = await executions.releases({ ...KEY, limit: 1 });
      const bytes = Buffer.byteLength(JSON.stringify(stored?.contract));
      for (const [bytesMax, expected] of [
        [1, ['c']],
        [2.5 * bytes, ['c', 'b']],
        [100 * bytes, ['c', 'b', 'a']],
      ] as const) {
        const found = await executions.releases({ ...KEY, limit: 9, bytesMax });
        assert.deepEqual(
          found.map(({ name }) => name),
          expected,
        );
      }
    },
  },
  {
    upholds: 'RE-3, RE-6',
    name: 'the name of a retired release cannot be registered again',
    async run({ store }) {
      await mustRegister(store, 'v1');
      await mustChange(store, 'retire', { name: 'v1' });
      refusedBy(await store.executions.registerRelease(registering('v1')), 'release-retired');
    },
  },
];
