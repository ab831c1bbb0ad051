// Two coordinators on one store. One is killed under its clients, which go on with the other.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { CoordinatorApi } from './children/coordinator.ts';
import { allSaved, assertNothingLost, hold, newestGrant } from './holders.ts';
import { sqliteBackend } from './stage/backend.ts';
import { Child } from './stage/child.ts';
import { Stage } from './stage/stage.ts';
import { until } from './stage/until.ts';

const TTL_MS = 6_000;
const KEYS = ['one', 'two', 'three'] as const;
const SAVES = 20;

const backend = sqliteBackend();
after(() => backend.end());

for (const way of ['stream', 'rest'] as const) {
  test(`P3, T-3: a coordinator that is killed under load loses no lease, fence or checkpoint of clients that know another, over ${way}`, async () => {
    const store = await backend.fresh();
    const coordinators = [0, 1].map(() => new Child<CoordinatorApi>('children/coordinator.ts'));
    const [first, second] = coordinators;
    assert.ok(first && second);
    try {
      const url = [
        await first.call('serve', { store, port: 0 }),
        await second.call('serve', { store, port: 0 }),
      ];
      await using stage = await Stage.at({ kind: 'coordinator', url, way });
      const holders = await Promise.all(KEYS.map((key) => hold(stage, key, TTL_MS)));
      await allSaved(holders, SAVES);
      const newestBefore = newestGrant(holders);
      await first.kill();
      await allSaved(holders, SAVES);
      await until('a fence was granted afterwards', () => newestGrant(holders) > newestBefore);
      await assertNothingLost(stage, holders);
    } finally {
      await Promise.all(coordinators.map((each) => each.kill()));
    }
  });
}
