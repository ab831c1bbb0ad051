import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeReleaseRefusal } from '../features/releases/model.ts';
import type { ExecutionId } from './names.ts';
import { describeExecutionRefusal } from './refusal.ts';

test('an ended execution that cannot be re-driven is to be submitted again', () => {
  for (const status of ['failed', 'cancelled', 'quarantined'] as const) {
    const refusal = { why: 'already-ended', id: 'e1' as ExecutionId, status } as const;
    assert.match(describeExecutionRefusal(refusal), /re-drive it: holdfast redrive e1\.$/);
    assert.match(describeReleaseRefusal(refusal), /re-drive it\.$/);
  }
  for (const status of ['completed', 'compensated'] as const) {
    const refusal = { why: 'already-ended', id: 'e1' as ExecutionId, status } as const;
    assert.match(describeExecutionRefusal(refusal), /To run it again, submit the work again\.$/);
    assert.match(describeReleaseRefusal(refusal), /another release, submit the work again\.$/);
  }
});
