import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditId, ProjectName } from '../../execution/names.ts';
import { toInstant } from '../../support/clock.ts';
import type { AuditAction, AuditRecord } from './model.ts';
import { fromAudit, toAudit } from './rows.ts';

const recordOf = (action: AuditAction): AuditRecord => ({
  id: 'a' as AuditId,
  at: toInstant(1),
  project: 'default' as ProjectName,
  actor: 'ann',
  action,
  target: { kind: 'execution', id: 'x' },
  reason: '',
});

for (const [action, stored] of [
  ['repin', 'move'],
  ['bulk-repin', 'bulk-move'],
  ['create-key', 'make-key'],
  ['revoke-key', 'end-key'],
  ['create-link', 'make-link'],
  ['cancel', 'cancel'],
] as const) {
  test(`J-1: the action ${action} is stored as ${stored} and read by its name`, () => {
    const record = recordOf(action);
    assert.equal(fromAudit(record).act, stored);
    assert.deepEqual(toAudit(fromAudit(record)), record);
  });
}
