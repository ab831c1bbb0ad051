// What was done to projects and keys, as the audit says it (J-7). Pure; nothing of the secret is in it, its digest neither.

import type { Changed } from '../../execution/decide/audit.ts';
import { DEFAULT_PROJECT, type ProjectName } from '../../execution/names.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import type { AccessKey, KeyRequest } from '../access-key.ts';
import type { ProjectSettings } from '../project.ts';

export function changedByPutProject(
  name: ProjectName,
  before: ProjectSettings | undefined,
  after: ProjectSettings,
): Changed {
  const target = { kind: 'project', id: name } as const;
  return { project: name, target, ...(before && { before: { ...before } }), after: { ...after } };
}

export function changedByAddKey(
  { id, project, name, roles }: KeyRequest,
  { createdAt, expiresAt }: Pick<AccessKey, 'createdAt' | 'expiresAt'>,
): Changed {
  const expires = expiresAt === undefined ? {} : { expiresInMs: expiresAt - createdAt };
  return { ...placeOf(id, project), after: { name, roles, ...expires } };
}

export function changedByEndKey(
  { id, project }: { readonly id: string; readonly project?: ProjectName | undefined },
  endedAt: Instant,
  made: readonly string[] = [],
): Changed {
  const others = made.length === 0 ? {} : { made };
  return { ...placeOf(id, project), after: { endedAt: formatInstant(endedAt), ...others } };
}

/** What is of all projects is on record where everybody looks first. */
function placeOf(id: string, project: ProjectName | undefined): Omit<Changed, 'before' | 'after'> {
  return { project: project ?? DEFAULT_PROJECT, target: { kind: 'access-key', id } };
}
