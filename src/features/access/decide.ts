// Decides whether a store creates a key (P-4, P-5, P-6, P-12, P-14). Pure.

import { DEFAULT_PROJECT, type ProjectName } from '../../execution/names.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import type { Changed } from '../audit/decide.ts';
import type {
  AccessKey,
  CreateKeyRefusal,
  KeyRequest,
  ProjectSettings,
  RevokeKeyRefusal,
} from './model.ts';

interface CreateKeyView {
  /** The key stored under the same id. */
  readonly stored: AccessKey | undefined;
  /** True if the store knows the project of the request. */
  readonly knowsProject: boolean;
  /** Counts revoked and expired keys too. */
  readonly hasKeys: boolean;
  /** The id of the creating key, or of the replaced one, if that key is not usable. */
  readonly ended: string | undefined;
  /** The project's usable keys, and its limit. */
  readonly used: number;
  readonly limit: number | undefined;
}

type CreateKeyDecision =
  | { readonly kind: 'create' }
  | { readonly kind: 'existing' }
  | ({ readonly kind: 'refused' } & CreateKeyRefusal);

export function decideCreateKey(
  view: CreateKeyView,
  request: KeyRequest & { readonly first?: true },
): CreateKeyDecision {
  const { id, project } = request;
  // Check this first, so that a caller who lost the response and repeats the request gets the same
  // result.
  if (view.stored !== undefined) {
    return isSame(view.stored, request)
      ? { kind: 'existing' }
      : { kind: 'refused', why: 'key-taken', id };
  }
  if (request.first === true && view.hasKeys) return { kind: 'refused', why: 'not-first' };
  if (project !== undefined && !view.knowsProject) {
    return { kind: 'refused', why: 'project-unknown', project };
  }
  const { ended, used, limit } = view;
  if (ended !== undefined) return { kind: 'refused', why: 'key-ended', id: ended };
  if (project !== undefined && limit !== undefined && used >= limit) {
    return { kind: 'refused', why: 'over-quota', project, quota: 'keys', limit };
  }
  return { kind: 'create' };
}

/**
 * Compares the lifetime, because the end depends on the time of the first request. The creating
 * key's end may have shortened it.
 */
function isSame(stored: AccessKey, request: KeyRequest): boolean {
  const { createdAt, expiresAt } = stored;
  const livesMs = expiresAt === undefined ? Infinity : expiresAt - createdAt;
  const requestedMs = request.expiresInMs ?? Infinity;
  return (
    stored.project === request.project &&
    stored.name === request.name &&
    stored.digest === request.digest &&
    stored.createdBy === request.createdBy &&
    (request.createdByKey === undefined ? livesMs === requestedMs : livesMs <= requestedMs) &&
    rolesOf(stored) === rolesOf(request)
  );
}

/** Ignores order and repetition. */
function rolesOf({ roles }: Pick<KeyRequest, 'roles'>): string {
  return [...new Set(roles)].sort().join();
}

// Decides whether a key is revoked (P-8, P-9). Pure.

type RevokeKeyDecision =
  | { readonly kind: 'revoke'; readonly key: AccessKey }
  | { readonly kind: 'no-change'; readonly revokedAt: Instant }
  | ({ readonly kind: 'refused' } & RevokeKeyRefusal);

export function decideRevokeKey(
  stored: AccessKey | undefined,
  request: { readonly id: string; readonly project?: ProjectName },
  endAt: Instant,
): RevokeKeyDecision {
  const { id, project } = request;
  if (stored === undefined || (project !== undefined && stored.project !== project)) {
    return { kind: 'refused', why: 'key-unknown', id };
  }
  const { revokedAt } = stored;
  return revokedAt === undefined || revokedAt > endAt
    ? { kind: 'revoke', key: stored }
    : { kind: 'no-change', revokedAt };
}

// The audit facts of operations on projects and keys (J-7). Pure. They contain neither the secret
// nor its digest.

export function changedByPutProject(
  name: ProjectName,
  before: ProjectSettings | undefined,
  after: ProjectSettings,
): Changed {
  const target = { kind: 'project', id: name } as const;
  return { project: name, target, ...(before && { before: { ...before } }), after: { ...after } };
}

export function changedByCreateKey(
  { id, project, name, roles }: KeyRequest,
  { createdAt, expiresAt }: Pick<AccessKey, 'createdAt' | 'expiresAt'>,
): Changed {
  const expires = expiresAt === undefined ? {} : { expiresInMs: expiresAt - createdAt };
  return { ...placeOf(id, project), after: { name, roles, ...expires } };
}

export function changedByRevokeKey(
  { id, project }: { readonly id: string; readonly project?: ProjectName | undefined },
  revokedAt: Instant,
  descendants: readonly string[] = [],
): Changed {
  const others = descendants.length === 0 ? {} : { descendants };
  return { ...placeOf(id, project), after: { revokedAt: formatInstant(revokedAt), ...others } };
}

/** Keys for all projects are on record in the default project, where operators look first. */
function placeOf(id: string, project: ProjectName | undefined): Omit<Changed, 'before' | 'after'> {
  return { project: project ?? DEFAULT_PROJECT, target: { kind: 'access-key', id } };
}
