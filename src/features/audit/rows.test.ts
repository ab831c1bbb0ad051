import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditId, ProjectName } from '../../execution/names.ts';
import { toInstant } from '../../support/clock.ts';
import type { AuditAct, AuditRecord } from './model.ts';
import { fromAudit, toAudit } from './rows.ts';

const recordOf = (act: AuditAct): AuditRecord => ({
  id: 'a' as AuditId,
  at: toInstant(1),
  project: 'default' as ProjectName,
  actor: 'ann',
  act,
  target: { kind: 'execution', id: 'x' },
  reason: '',
});

for (const [act, stored] of [
  ['repin', 'move'],
  ['bulk-repin', 'bulk-move'],
  ['create-key', 'make-key'],
  ['revoke-key', 'end-key'],
  ['cancel', 'cancel'],
] as const) {
  test(`J-1: the act ${act} is stored as ${stored} and read by its name`, () => {
    const record = recordOf(act);
    assert.equal(fromAudit(record).act, stored);
    assert.deepEqual(toAudit(fromAudit(record)), record);
  });
}
