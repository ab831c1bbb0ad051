import assert from 'node:assert/strict';
import { contractVersion } from '../../../src/features/releases/contract-model.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { nextId, OTHER_PROJECT, PIPELINE, PROJECT } from '../worker.ts';
import {
  changing,
  mustActivate,
  mustChange,
  mustRegister,
  NARROWER,
  refusedBy,
} from './releasing.ts';

const OF = { project: PROJECT, pipeline: PIPELINE };

export const rolloutCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-4',
    name: 'a rollout goes from activation to canary, promotion and back; its log has each operation with actor and reason',
    async run({ store, now }) {
      const { executions } = store;
      assert.deepEqual(await executions.rollout(OF), { version: 0 });
      for (const name of ['v1', 'v2']) await mustRegister(store, name);
      await mustChange(store, 'activate', { name: 'v1', reason: 'first' });
      await mustChange(store, 'set-canary', { name: 'v2', percent: 5 });
      await mustChange(store, 'set-canary', { name: 'v2', percent: 50 });
      await mustChange(store, 'promote');
      await mustChange(store, 'roll-back', { actor: 'otto' });
      const rollout = await executions.rollout(OF);
      assert.deepEqual(rollout, { version: 5, active: 'v1' });
      const log = await executions.activations({ ...OF, limit: 9 });
      assert.deepEqual(
        log.map(({ version, action, name, actor }) => [version, action, name, actor]),
        [
          [5, 'roll-back', 'v1', 'otto'],
          [4, 'promote', 'v2', 'olga'],
          [3, 'set-canary', 'v2', 'olga'],
          [2, 'set-canary', 'v2', 'olga'],
          [1, 'activate', 'v1', 'olga'],
        ],
      );
      const [, promoted] = log;
      assert.deepEqual(promoted?.before, { active: 'v1', canary: 'v2', percent: 50 });
      assert.deepEqual(promoted?.after, { active: 'v2', previous: 'v1' });
      assert.deepEqual([promoted?.at, promoted?.forced], [now(), false]);
      const page = await executions.activations({ ...OF, before: 4, limit: 2 });
      assert.deepEqual(
        page.map(({ version }) => version),
        [3, 2],
      );
      const elsewhere = { ...OF, project: OTHER_PROJECT };
      assert.deepEqual(await executions.rollout(elsewhere), { version: 0 });
    },
  },
  {
    upholds: 'RE-4',
    name: 'pipelines that have releases are listed by name, each with its rollout, a page at a time',
    async run({ store }) {
      const { executions } = store;
      assert.deepEqual(await executions.rollouts({ project: PROJECT, limit: 9 }), []);
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      await mustChange(store, 'set-canary', { name: 'v2', percent: 5 });
      const others = ['Zeta', 'alpha', 'über'] as (typeof PIPELINE)[];
      for (const pipeline of others) {
        await mustRegister(store, 'v1', { pipeline });
        await mustRegister(store, 'v2', { pipeline });
      }
      const found = await executions.rollouts({ project: PROJECT, limit: 9 });
      const own = { pipeline: PIPELINE, version: 2, active: 'v1', canary: 'v2', percent: 5 };
      const [zeta, alpha, ueber] = others.map((pipeline) => ({ pipeline, version: 0 }));
      assert.deepEqual(found, [zeta, alpha, own, ueber]);
      const page = { project: PROJECT, limit: 2 };
      assert.deepEqual(await executions.rollouts(page), found.slice(0, 2));
      assert.deepEqual(await executions.rollouts({ ...page, after: 'alpha' }), found.slice(2));
      assert.deepEqual(await executions.rollouts({ ...page, after: 'über' }), []);
      assert.deepEqual(await executions.rollouts({ project: OTHER_PROJECT, limit: 9 }), []);
    },
  },
  {
    upholds: 'RE-4, RE-14',
    name: 'an operation without effect returns no-change, and an impossible one is refused with its reason',
    async run({ store }) {
      const { executions } = store;
      await mustRegister(store, 'v2');
      refusedBy(
        await executions.changeRollout(changing('activate', { name: 'v1' })),
        'release-unknown',
      );
      const canary = changing('set-canary', { name: 'v2', percent: 5 });
      refusedBy(await executions.changeRollout(canary), 'nothing-active');
      refusedBy(await executions.changeRollout(changing('promote')), 'no-canary');
      refusedBy(await executions.changeRollout(changing('roll-back')), 'nothing-before');
      await mustActivate(store, 'v1');
      const again = await executions.changeRollout(changing('activate', { name: 'v1' }));
      assert.deepEqual(again, { kind: 'no-change', rollout: { version: 1, active: 'v1' } });
      await mustChange(store, 'retire', { name: 'v2' });
      refusedBy(
        await executions.changeRollout(changing('activate', { name: 'v2' })),
        'release-retired',
      );
      refusedBy(
        await executions.changeRollout(changing('retire', { name: 'v1' })),
        'release-in-use',
      );
      const log = await executions.activations({ ...OF, limit: 9 });
      assert.deepEqual(
        log.map(({ action }) => action),
        ['retire', 'activate'],
      );
    },
  },
  {
    upholds: 'RE-7',
    name: 'a release that breaks its contract or a replay is not activated, unless forced with a reason',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      const contract = { contract: NARROWER, contractVersion: contractVersion(NARROWER) };
      await mustRegister(store, 'v2', contract);
      const refused = await executions.changeRollout(changing('activate', { name: 'v2' }));
      assert.match(JSON.stringify(refusedBy(refused, 'release-breaks')), /input\.order/);
      const forced = changing('activate', { name: 'v2', force: true });
      refusedBy(await executions.changeRollout(forced), 'force-without-reason');
      expectKind(
        await executions.changeRollout({ ...forced, reason: 'no caller sends that' }),
        'changed',
      );
      const [entry] = await executions.activations({ ...OF, limit: 1 });
      assert.deepEqual([entry?.forced, entry?.reason], [true, 'no caller sends that']);
      // Rolling back is never refused as breaking.
      await mustChange(store, 'roll-back');
      await mustRegister(store, 'v3');
      const broken = [{ execution: nextId(), why: 'History has step:a#1.' }];
      const preflight = { changes: [], open: 9, replayed: 9, broken, brokenCount: 1 };
      await executions.notePreflight({ ...OF, name: 'v3', preflight });
      for (const operation of ['activate', 'set-canary'] as const) {
        const result = await executions.changeRollout(
          changing(operation, { name: 'v3', percent: 5 }),
        );
        assert.match(JSON.stringify(refusedBy(result, 'release-breaks')), /1 of 9 .*step:a#1/);
      }
    },
  },
  {
    upholds: 'RE-7',
    name: 'without an active release, a new one is compared with the last active one',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      const contract = { contract: NARROWER, contractVersion: contractVersion(NARROWER) };
      await mustRegister(store, 'v2', contract);
      await mustChange(store, 'deactivate');
      const activate = changing('activate', { name: 'v2' });
      refusedBy(await executions.changeRollout(activate), 'release-breaks');
      await mustChange(store, 'retire', { name: 'v1' });
      const refused = await executions.changeRollout(activate);
      assert.match(JSON.stringify(refusedBy(refused, 'release-breaks')), /input\.order/);
      await mustChange(store, 'activate', {
        name: 'v2',
        force: true,
        reason: 'no caller sends it',
      });
      const [entry] = await executions.activations({ ...OF, limit: 1 });
      assert.deepEqual([entry?.forced, entry?.before], [true, { previous: 'v1' }]);
    },
  },
  {
    upholds: 'RE-7, RE-15, RE-22',
    name: 'a roll-back goes back once and is never refused for breaking changes; going forward is an activation',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustActivate(store, 'v2');
      const broken = [{ execution: nextId(), why: 'History has step:a#1.' }];
      const preflight = { changes: [], open: 9, replayed: 9, broken, brokenCount: 1 };
      for (const name of ['v1', 'v2']) {
        await executions.notePreflight({ ...OF, name, preflight });
      }
      await mustChange(store, 'roll-back');
      assert.deepEqual(await executions.rollout(OF), { version: 3, active: 'v1' });
      refusedBy(await executions.changeRollout(changing('roll-back')), 'nothing-before');
      const forward = changing('activate', { name: 'v2' });
      refusedBy(await executions.changeRollout(forward), 'release-breaks');
      // A roll-back of a deactivation is not a step forward.
      await mustChange(store, 'deactivate');
      await mustChange(store, 'roll-back');
      assert.deepEqual(await executions.rollout(OF), { version: 5, active: 'v1' });
      await mustChange(store, 'deactivate');
      await mustChange(store, 'retire', { name: 'v1' });
      refusedBy(await executions.changeRollout(changing('roll-back')), 'release-retired');
    },
  },
  {
    upholds: 'RE-4, RE-14',
    needs: 'two-clients',
    name: 'when operations on one rollout expect the same version, exactly one is done',
    async run({ store, another }) {
      const other = await another();
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      for (const name of names) await mustRegister(store, name);
      for (let expected = 0; expected < 5; expected += 1) {
        for (const name of names) await mustRegister(store, `${name}${expected}`);
        const results = await Promise.all(
          names.map((name, nth) =>
            (nth % 2 === 0 ? store : other).executions.changeRollout(
              changing('activate', { name: `${name}${expected}`, expected }),
            ),
          ),
        );
        const done = results.filter(({ kind }) => kind === 'changed');
        assert.equal(done.length, 1);
        for (const result of results) {
          if (result.kind !== 'changed') refusedBy(result, 'rollout-changed');
        }
      }
      // Without an expected version, the operations run one after the other.
      await Promise.all(
        names.map((name, nth) =>
          (nth % 2 === 0 ? store : other).executions.changeRollout(changing('activate', { name })),
        ),
      );
      const log = await store.executions.activations({ ...OF, limit: 100 });
      const versions = log.map(({ version }) => version).toReversed();
      assert.deepEqual(
        versions,
        versions.map((_, nth) => nth + 1),
      );
      for (const [nth, { before }] of log.entries()) {
        assert.deepEqual(before, log[nth + 1]?.after ?? {});
      }
    },
  },
];
