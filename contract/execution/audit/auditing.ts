// Builders for cases about the audit: who acts, and what is then written of it.

import assert from 'node:assert/strict';
import type { AuditId, ProjectName } from '../../../src/execution/names.ts';
import type { AuditAct, AuditRecord, AuditStamp } from '../../../src/features/audit/model.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { nextId, PROJECTS } from '../worker.ts';

/** Small, so that lists have several pages. */
const PAGE = 3;

export function stamp(act: AuditAct, options: Partial<AuditStamp> = {}): AuditStamp {
  const id = nextId() as string as AuditId;
  return { id, act, actor: 'olga', reason: 'asked for by the customer', ...options };
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

/** Of all projects that cases use, newest first within each. */
export async function allAudit(store: CoordinatorStore): Promise<readonly AuditRecord[]> {
  return (await Promise.all(PROJECTS.map((project) => auditIn(store, project)))).flat();
}

/** Does something, which leaves one record: this one, besides those that were there. */
export async function expectAudited(
  store: CoordinatorStore,
  expected: Omit<AuditRecord, 'at'> & { readonly at?: AuditRecord['at'] },
  act: () => Promise<unknown>,
): Promise<void> {
  const before = await allAudit(store);
  await act();
  const [record, ...rest] = await allAudit(store);
  assert.deepEqual(record, { at: record?.at, ...expected }, `J-1: ${expected.act}`);
  assert.deepEqual(rest, before, `J-2: one record of ${expected.act}`);
}

/** Does something that leaves none, and answers with what it answered. */
export async function expectUnaudited<Answer>(
  store: CoordinatorStore,
  act: () => Promise<Answer>,
): Promise<Answer> {
  const before = await allAudit(store);
  const result = await act();
  assert.deepEqual(await allAudit(store), before, `J-2: ${JSON.stringify(result)}`);
  return result;
}

/** What a record has besides what it changed. */
export function recordOf(
  { about: _, ...stamped }: AuditStamp,
  project: ProjectName,
  target: AuditRecord['target'],
): Omit<AuditRecord, 'at'> {
  return { ...stamped, project, target };
}
