import { type AccessKey, isUsable } from '../../../access/access-key.ts';
import { decideAddKey } from '../../../access/decide/add-key.ts';
import { changedByAddKey } from '../../../access/decide/audit.ts';
import { laterBy } from '../../../support/clock.ts';
import type { AddKey, KeyAdded, ListKeys } from '../../contract/access-store.ts';
import { writeAudit } from '../executions/audit.ts';
import { inByteOrder } from '../executions/state.ts';
import type { AccessState } from './state.ts';

export function addKey(state: AccessState, request: AddKey): KeyAdded {
  const { first: _, audit: _audit, expiresInMs, ...rest } = request;
  const decision = decideAddKey(
    {
      stored: state.keys.get(request.id),
      knowsProject: request.project !== undefined && state.projects.has(request.project),
      hasKeys: state.keys.size > 0,
    },
    request,
  );
  if (decision.kind === 'refused') return decision;
  if (decision.kind === 'existing') return { kind: 'added', existing: true };
  const createdAt = state.kernel.now();
  state.keys.set(request.id, {
    ...structuredClone(rest),
    createdAt,
    ...(expiresInMs === undefined ? {} : { expiresAt: laterBy(createdAt, expiresInMs) }),
  });
  writeAudit(state.executions, request, { changed: changedByAddKey(request), now: createdAt });
  return { kind: 'added', existing: false };
}

export function key(state: AccessState, id: string): AccessKey | undefined {
  const stored = state.keys.get(id);
  return stored === undefined ? undefined : structuredClone(stored);
}

export function keys(state: AccessState, query: ListKeys): readonly AccessKey[] {
  const { project, all, after, limit } = query;
  const now = state.kernel.now();
  return [...state.keys.values()]
    .filter((each) => project === undefined || each.project === project)
    .filter((each) => all === true || isUsable(each, now))
    .filter((each) => after === undefined || inOrder(each, after) > 0)
    .sort(inOrder)
    .slice(0, limit)
    .map((each) => structuredClone(each));
}

type Place = { readonly createdAt: number; readonly id: string };

/** The newest first. */
function inOrder(a: Place, b: Place): number {
  return b.createdAt - a.createdAt || inByteOrder(b.id, a.id);
}
