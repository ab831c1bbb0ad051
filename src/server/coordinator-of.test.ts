import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFinding } from '../features/reconcile/model.ts';
import { observerFor } from './coordinator-of.ts';

test('Z-30: a coordinator logs data that breaks an invariant', () => {
  const lines: unknown[] = [];
  const log = {
    info: (message: string, about?: object) => void lines.push([message, about]),
    fault: () => undefined,
  };
  const finding = describeFinding({ invariant: 'running-unowned', repaired: true });
  observerFor(log).report({ kind: 'stale', ...finding });
  assert.deepEqual(lines, [['found data that breaks an invariant', finding]]);
});
