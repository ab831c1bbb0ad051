import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineName, ProjectName } from '../../execution/names.ts';
import { activationOf, fromRollout, toActivation, toRollout } from './rows.ts';

const CANARY = { version: 2, active: 'v1', canary: 'v2', percent: 10 } as const;

test('RE-4: a canary is stored as `candidate`, in its row and in the log, and read by its name', () => {
  const row = fromRollout(CANARY);
  assert.equal(row.candidate, 'v2');
  assert.deepEqual(toRollout(row), CANARY);
  const entry = activationOf(
    {
      project: 'default' as ProjectName,
      pipeline: 'order' as PipelineName,
      ...{ action: 'set-canary', name: 'v2', percent: 10, actor: 'ann', reason: '' },
    },
    { before: { version: 1, active: 'v1' }, after: CANARY, name: 'v2', forced: false },
  );
  assert.equal(entry.act, 'percentage');
  assert.deepEqual(JSON.parse(entry.became), { active: 'v1', candidate: 'v2', percent: 10 });
  const { action, before, after } = toActivation({ ...entry, at: 1 });
  const { version: _, ...canary } = CANARY;
  assert.deepEqual([action, before, after], ['set-canary', { active: 'v1' }, canary]);
});
