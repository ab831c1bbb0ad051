// Rows of projects and access keys, in one shape for both SQL stores.

import type { ProjectName } from '../../execution/names.ts';
import { toInstant } from '../../support/clock.ts';
import type { AccessKey, Project, ProjectSettings, Role } from './model.ts';
import type { CreateKey, ListKeys } from './port.ts';

export interface ProjectRow {
  readonly name: string;
  readonly created_at: number;
  readonly settings: string;
}

export function toProject(row: ProjectRow): Project {
  return {
    name: row.name as ProjectName,
    createdAt: toInstant(row.created_at),
    settings: JSON.parse(row.settings) as ProjectSettings,
  };
}

export interface AccessKeyRow {
  readonly id: string;
  readonly project: string | null;
  readonly roles: string;
  readonly name: string;
  readonly digest: string;
  readonly created_at: number;
  readonly created_by: string | null;
  readonly expires_at: number | null;
  readonly ended_at: number | null;
}

/** The given part of a row. The store's clock adds the times (P-7). */
export function fromCreateKey(request: CreateKey) {
  const { id, project, roles, name, digest, createdBy, expiresInMs, createdByKey, rotates } =
    request;
  return {
    ...{ id, name, digest, roles: JSON.stringify(roles) },
    project: project ?? null,
    createdBy: createdBy ?? null,
    expiresInMs: expiresInMs ?? null,
    createdByKey: createdByKey ?? null,
    rotates: rotates ?? null,
  };
}

export function keyTimes(
  row: Pick<AccessKeyRow, 'created_at' | 'expires_at'>,
): Pick<AccessKey, 'createdAt' | 'expiresAt'> {
  return {
    createdAt: toInstant(row.created_at),
    ...(row.expires_at === null ? {} : { expiresAt: toInstant(row.expires_at) }),
  };
}

export function toAccessKey(row: AccessKeyRow): AccessKey {
  return {
    id: row.id,
    ...(row.project === null ? {} : { project: row.project as ProjectName }),
    roles: JSON.parse(row.roles) as readonly Role[],
    name: row.name,
    digest: row.digest,
    ...keyTimes(row),
    ...(row.created_by === null ? {} : { createdBy: row.created_by }),
    ...(row.ended_at === null ? {} : { revokedAt: toInstant(row.ended_at) }),
  };
}

/**
 * The position after which a page continues: older, or as old with a smaller id. Without `after`:
 * the newest.
 */
export function startOf({ after }: ListKeys): { readonly at: number; readonly id: string } {
  return { at: after?.createdAt ?? Number.MAX_SAFE_INTEGER, id: after?.id ?? '' };
}
