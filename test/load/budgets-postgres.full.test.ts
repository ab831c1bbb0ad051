// `npm run bench -- regress` in the tests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { regressSuite } from '../../bench/regress/suite.ts';
import type { Plan } from '../../bench/suite.ts';

const PLAN: Plan = {
  ...{
    quick: false,
    only: '',
    rounds: undefined,
    sizeMax: Number.POSITIVE_INFINITY,
    spikes: undefined,
    progress: () => undefined,
  },
  stores: ['sqlite', 'postgres'],
  part: { nth: 1, of: 1 },
};

test('a step and an execution cost no more than their budgets', async () => {
  const counts = new Map<string, number>();
  for await (const { store, case: name, metric, value } of regressSuite.run(PLAN)) {
    if (metric === 'count') counts.set(`${store} · ${name}`, value);
  }
  // Each step is one row and at least one statement, so the suite does count.
  for (const each of ['embedded', 'coordinator']) {
    assert.ok((counts.get(`postgres · ${each} · per step · rows`) ?? 0) > 0.9);
    assert.ok((counts.get(`postgres · ${each} · per step · statements`) ?? 0) > 0.9);
  }
});
