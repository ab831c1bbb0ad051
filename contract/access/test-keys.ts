// Builders for cases: keys and their projects, and reads of them.

import assert from 'node:assert/strict';
import { type ProjectName, parseProject } from '../../src/execution/names.ts';
import { type AccessKey, newKey } from '../../src/features/access/model.ts';
import type { CreateKey, ListKeys } from '../../src/features/access/port.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';

export const PROJECT: ProjectName = parseProject('shop');
export const OTHER_PROJECT: ProjectName = parseProject('other');

export function creating(options: Partial<CreateKey> = {}): CreateKey {
  const { id, digest } = newKey();
  return { id, digest, name: 'ci', roles: ['submit'], ...options };
}

/** Adds a key, and first puts its project, if it has one. */
export async function mustAdd(
  store: CoordinatorStore,
  options: Partial<CreateKey> = {},
): Promise<CreateKey> {
  const request = creating(options);
  const { project: name } = request;
  if (name !== undefined) await store.access.putProject({ name, settings: {} });
  const result = await store.access.createKey(request);
  assert.deepEqual(result, { kind: 'created', existing: false });
  return request;
}

export async function mustRead(store: CoordinatorStore, id: string): Promise<AccessKey> {
  const found = await store.access.key(id);
  assert.ok(found !== undefined, `key ${id} is there`);
  return found;
}

/** Lists all keys, page by page. */
export async function allKeys(
  store: CoordinatorStore,
  query: Omit<ListKeys, 'after' | 'limit'> = {},
  limit = 100,
): Promise<readonly AccessKey[]> {
  const found: AccessKey[] = [];
  for (;;) {
    const last = found.at(-1);
    const after = last === undefined ? {} : { after: { createdAt: last.createdAt, id: last.id } };
    const page = await store.access.keys({ ...query, ...after, limit });
    assert.ok(page.length <= limit);
    if (page.length === 0) return found;
    found.push(...page);
  }
}

/** Runs the call and asserts that no key changed. */
export async function leavesKeysUnchanged<Answer>(
  store: CoordinatorStore,
  operation: () => Promise<Answer>,
): Promise<Answer> {
  const before = await allKeys(store, { all: true });
  const result = await operation();
  assert.deepEqual(await allKeys(store, { all: true }), before, JSON.stringify(result));
  return result;
}
