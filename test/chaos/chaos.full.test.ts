// Two minutes of faults on real processes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportLines } from './report.ts';
import { runChaos } from './run.ts';

const SEED = Math.floor(Math.random() * 1e6);

test('P1, P2, P3, P4: two minutes of faults on coordinators, workers and PostgreSQL break no promise', async (t) => {
  // It names a fault that this machine does not allow.
  const onFault = (name: string): void => t.diagnostic(name);
  const verdict = await runChaos({ minutes: 2, seed: SEED, onFault });
  for (const line of reportLines(verdict)) t.diagnostic(line);
  assert.deepEqual(verdict.problems, [], `--seed ${SEED}`);
  assert.ok(verdict.executions > 100, `${verdict.executions} executions`);
});
