// The first start of a store makes the project `default` and one key that may do everything. It is shown
// once; of several coordinators that start together one makes it.

import { DEFAULT_PROJECT } from '../execution/names.ts';
import { ROLES, writeKey } from '../features/access/model.ts';
import type { AccessStore } from '../features/access/port.ts';
import { newKey } from '../features/access/secret-model.ts';

/** Undefined when there are keys already. */
export async function firstKey(access: AccessStore): Promise<string | undefined> {
  if ((await access.keys({ limit: 1, all: true })).length > 0) return undefined;
  if ((await access.project(DEFAULT_PROJECT)) === undefined) {
    await access.putProject({ name: DEFAULT_PROJECT, settings: {} });
  }
  const { id, secret, digest } = newKey();
  const answer = await access.addKey({ id, digest, name: 'first key', roles: ROLES, first: true });
  return answer.kind === 'added' ? writeKey({ id, secret }) : undefined;
}
