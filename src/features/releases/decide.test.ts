import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { Contract } from './contract-model.ts';
import { decideRollout, keptPreflight, nameBefore, type RolloutRequest } from './decide.ts';
import {
  bucketOf,
  type Preflight,
  pinOf,
  type Release,
  type Rollout,
  releaseState,
} from './model.ts';

const PIPELINE = 'order' as PipelineName;
const contract = { input: true, output: true, awaits: [], remoteSteps: [] } as unknown as Contract;

function release(name: string, options: Partial<Release> = {}): Release {
  const key = { project: 'p' as ProjectName, pipeline: PIPELINE, name };
  const build = { artifact: 'a', digest: 'd', contract, contractVersion: 'c' };
  return { ...key, ...build, createdAt: 0 as Instant, createdBy: 'ann', ...options };
}

const less = { ...contract, input: { type: 'string' } } as Contract;
const known = new Map(
  [
    release('v1'),
    release('v2'),
    release('less', { contract: less }),
    release('old', { retiredAt: 1 as Instant }),
  ].map((each) => [each.name, each]),
);

type Row = readonly [rollout: Rollout, asked: Partial<RolloutRequest>, expected: string];

const fresh: Rollout = { version: 0 };
const active: Rollout = { version: 3, active: 'v1' };
const split: Rollout = { version: 3, active: 'v1', canary: 'v2', percent: 10 };
const back: Rollout = { version: 3, active: 'v2', previous: 'v1' };
const off: Rollout = { version: 4, previous: 'v1' };

const ROWS: readonly Row[] = [
  [fresh, { action: 'activate', name: 'v1' }, 'active=v1'],
  [active, { action: 'activate', name: 'v1' }, 'no-change'],
  [active, { action: 'activate', name: 'v2' }, 'active=v2 previous=v1'],
  [split, { action: 'activate', name: 'v1' }, 'active=v1'],
  [active, { action: 'activate', name: 'v9' }, 'release-unknown'],
  [active, { action: 'activate', name: 'old' }, 'release-retired'],
  [active, { action: 'activate', name: 'v2', expected: 2 }, 'rollout-changed'],
  [active, { action: 'activate', name: 'v2', expected: 3 }, 'active=v2 previous=v1'],
  [fresh, { action: 'set-canary', name: 'v1', percent: 5 }, 'nothing-active'],
  [active, { action: 'set-canary', name: 'v2', percent: 5 }, 'active=v1 canary=v2 percent=5'],
  [active, { action: 'set-canary', name: 'v1', percent: 5 }, 'already-active'],
  [split, { action: 'set-canary', name: 'v1', percent: 5 }, 'already-active'],
  [split, { action: 'set-canary', name: 'v1', percent: 0 }, 'already-active'],
  [split, { action: 'set-canary', name: 'v9', percent: 0 }, 'no-change'],
  [split, { action: 'set-canary', name: 'v2', percent: 0 }, 'active=v1'],
  [active, { action: 'promote' }, 'no-canary'],
  [split, { action: 'promote' }, 'active=v2 previous=v1'],
  [split, { action: 'roll-back' }, 'active=v1'],
  // A roll-back works once: the release that was rolled back is no longer a target.
  [back, { action: 'roll-back' }, 'active=v1'],
  [active, { action: 'roll-back' }, 'nothing-before'],
  [fresh, { action: 'deactivate' }, 'no-change'],
  [active, { action: 'deactivate' }, 'previous=v1'],
  [split, { action: 'deactivate' }, 'previous=v1'],
  [active, { action: 'deactivate', expected: 2 }, 'rollout-changed'],
  [off, { action: 'roll-back' }, 'active=v1'],
  [off, { action: 'activate', name: 'v1' }, 'active=v1'],
  [off, { action: 'activate', name: 'v2' }, 'active=v2 previous=v1'],
  [off, { action: 'activate', name: 'less' }, 'release-breaks'],
  [active, { action: 'activate', name: 'less' }, 'release-breaks'],
  [active, { action: 'set-canary', name: 'less', percent: 5 }, 'release-breaks'],
  [{ version: 3, active: 'less', previous: 'v1' }, { action: 'roll-back' }, 'active=v1'],
  [{ version: 3, active: 'v1', previous: 'less' }, { action: 'roll-back' }, 'active=less'],
  // No release is active, so the next activation is still compared with this one.
  [off, { action: 'retire', name: 'v1' }, 'previous=v1'],
  [{ version: 5, previous: 'old' }, { action: 'activate', name: 'less' }, 'release-breaks'],
  [{ version: 5, previous: 'old' }, { action: 'roll-back' }, 'release-retired'],
  [active, { action: 'retire', name: 'v1' }, 'release-in-use'],
  [split, { action: 'retire', name: 'v2' }, 'release-in-use'],
  [back, { action: 'retire', name: 'v1' }, 'active=v2'],
  [active, { action: 'retire', name: 'old' }, 'no-change'],
  [active, { action: 'retire', name: 'v9' }, 'release-unknown'],
  [active, { action: 'activate', name: 'v2', force: true }, 'force-without-reason'],
];

for (const [rollout, asked, expected] of ROWS) {
  test(`RE-4: ${JSON.stringify(rollout)} ${JSON.stringify(asked)}: ${expected}`, () => {
    const request = {
      pipeline: PIPELINE,
      reason: '',
      action: 'activate',
      ...asked,
    } as RolloutRequest;
    const name =
      asked.name ??
      (asked.action === 'promote' || rollout.canary ? rollout.canary : rollout.previous);
    const view = {
      rollout,
      release: known.get(name ?? ''),
      before: known.get(nameBefore(rollout) ?? ''),
      pinned: 0,
    };
    const decision = decideRollout(view, request);
    if (decision.kind === 'refuse') return assert.equal(decision.refusal.why, expected);
    if (decision.kind === 'no-change') return assert.equal(decision.kind, expected);
    const { version, ...rest } = decision.rollout;
    assert.equal(version, rollout.version + 1);
    const parts = ['active', 'previous', 'canary', 'percent'].flatMap((part) => {
      const value = (rest as Record<string, unknown>)[part];
      return value === undefined ? [] : `${part}=${value}`;
    });
    assert.equal(parts.join(' '), expected);
  });
}

test('RE-5: percentages are even, and a larger one includes the executions of a smaller one', () => {
  const counts = Array.from({ length: 100 }, () => 0);
  for (let nth = 0; nth < 20_000; nth += 1) {
    const bucket = bucketOf({ id: `id-${nth}` });
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  assert.ok(
    counts.every((count) => count > 120 && count < 290),
    counts.join(' '),
  );
  const rollout = (percent: number): Rollout => ({ version: 1, active: 'a', canary: 'b', percent });
  for (let nth = 0; nth < 500; nth += 1) {
    const key = { id: 'x', key: `k-${nth}` };
    if (pinOf(rollout(20), key) === 'b') assert.equal(pinOf(rollout(50), key), 'b');
    assert.equal(bucketOf(key), bucketOf({ ...key, id: 'y' }));
  }
});

test('the state of a release follows from its rollout and its pinned executions', () => {
  const of = (name: string, rollout: Rollout, pinned = 0) =>
    releaseState(release(name), { rollout, pinned, wasActive: name !== 'v9' });
  assert.equal(of('v1', active), 'active');
  assert.equal(of('v2', split), 'canary');
  assert.equal(of('v1', back, 3), 'draining');
  assert.equal(of('v1', back), 'drained');
  assert.equal(of('v9', back), 'registered');
  const retired = release('old', { retiredAt: 1 as Instant });
  assert.equal(releaseState(retired, { rollout: back, pinned: 0, wasActive: true }), 'retired');
});

type Found = Omit<Preflight, 'at'>;

const ids = (...names: readonly string[]) => names as readonly string[] as readonly ExecutionId[];

function found(replayed: number, ...broken: readonly string[]): Found {
  const replays = ids(...broken).map((execution) => ({ execution, why: 'it asks otherwise' }));
  return { changes: [], open: 3, replayed, broken: replays, brokenCount: broken.length };
}

const all = found(3, 'a', 'b', 'c');

test('RE-10, RE-20: a partial preflight keeps the findings about executions that it skipped', () => {
  const kept = keptPreflight(all, found(1), ids('b', 'c'));
  assert.deepEqual([kept.brokenCount, kept.replayed], [2, 3]);
  assert.deepEqual(
    kept.broken.map(({ execution }) => execution),
    ids('b', 'c'),
  );
  assert.equal(keptPreflight(all, found(0), ids('a', 'b', 'c')).brokenCount, 3);
  assert.equal(keptPreflight(all, found(1, 'a'), ids('b', 'c')).brokenCount, 3);
});

test('RE-10, RE-20: a full preflight replaces all findings, and ended executions are dropped', () => {
  assert.deepEqual(keptPreflight(all, found(3), []), found(3));
  assert.deepEqual(keptPreflight(undefined, found(1), ids('b', 'c')), found(1));
  assert.equal(keptPreflight(all, found(1), ids('x', 'y')).brokenCount, 0);
});

test('RE-10: findings that were only counted may belong to any skipped execution', () => {
  const many = { ...all, brokenCount: 500 };
  assert.equal(keptPreflight(many, found(1), ids('x', 'y')).brokenCount, 2);
  assert.equal(keptPreflight(many, found(1), ids('a', 'y', 'z')).replayed, 4);
});
