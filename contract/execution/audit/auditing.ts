// Builders for cases about the audit: operations with an actor, and reads of their records.

import assert from 'node:assert/strict';
import type { AuditId, ProjectName } from '../../../src/execution/names.ts';
import type { AuditAction, AuditRecord, AuditStamp } from '../../../src/features/audit/model.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { nextId, PROJECTS } from '../worker.ts';

/** Small, so that lists have several pages. */
const PAGE = 3;

export function stamp(action: AuditAction, options: Partial<AuditStamp> = {}): AuditStamp {
  const id = nextId() as string as AuditId;
  return { id, action, actor: 'olga', reason: 'asked for by the customer', ...options };
}

export async function auditIn(
  store: CoordinatorStore,
  project: ProjectName,
): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for (let before: AuditId | undefined; ; ) {
    const cursor = before === undefined ? {} : { before };
    const page = await store.executions.audit({ project, limit: PAGE, ...cursor });
    assert.ok(page.length <= PAGE, 'J-6: a page is no longer than asked for');
    found.push(...page);
    before = page.at(-1)?.id;
    if (before === undefined || page.length < PAGE) return found;
  }
}

/** Lists the records of all projects that cases use, newest first within each. */
export async function allAudit(store: CoordinatorStore): Promise<readonly AuditRecord[]> {
  return (await Promise.all(PROJECTS.map((project) => auditIn(store, project)))).flat();
}

/** Runs an operation and asserts that it added exactly this record. */
export async function expectAudited(
  store: CoordinatorStore,
  expected: Omit<AuditRecord, 'at'> & { readonly at?: AuditRecord['at'] },
  operation: () => Promise<unknown>,
): Promise<void> {
  const before = await allAudit(store);
  await operation();
  const [record, ...rest] = await allAudit(store);
  assert.deepEqual(record, { at: record?.at, ...expected }, `J-1: ${expected.action}`);
  assert.deepEqual(rest, before, `J-2: one record of ${expected.action}`);
}

/** Runs an operation, asserts that it added no record, and returns its result. */
export async function expectUnaudited<Answer>(
  store: CoordinatorStore,
  operation: () => Promise<Answer>,
): Promise<Answer> {
  const before = await allAudit(store);
  const result = await operation();
  assert.deepEqual(await allAudit(store), before, `J-2: ${JSON.stringify(result)}`);
  return result;
}

/** The fields of a record apart from the change. */
export function recordOf(
  { about: _, ...stamped }: AuditStamp,
  project: ProjectName,
  target: AuditRecord['target'],
): Omit<AuditRecord, 'at'> {
  return { ...stamped, project, target };
}
