// Access keys
//
// A key is shown once, when it is made: `hf_<id>_<secret>`. What is stored is the id and a digest of the
// secret, which has 256 random bits, so that one round of SHA-256 is enough and nothing has to be slow.
//
// What a key is never changes (P-4); that it has ended or expired is told to nobody but operators (P-10).

import type { ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import type { KeepMs } from '../retention/model.ts';
import type { Quotas } from './quota-model.ts';

export interface AccessKey {
  /** Not secret: it is in lists, logs and audit records. */
  readonly id: string;
  /** Of all projects when undefined. */
  readonly project?: ProjectName;
  readonly roles: readonly Role[];
  /** What people call it. */
  readonly name: string;
  /** SHA-256 of the secret, as hex. */
  readonly digest: string;
  readonly createdAt: Instant;
  readonly createdBy?: string;
  readonly expiresAt?: Instant;
  /** Revoked, or replaced by rotation. */
  readonly endedAt?: Instant;
}

/** What is asked for; the store's clock says the rest (P-7). */
export interface KeyRequest extends Omit<AccessKey, 'createdAt' | 'endedAt' | 'expiresAt'> {
  readonly expiresInMs?: number;
  /** Id of the key that makes it: it must be usable, and this one ends no later (P-12). */
  readonly madeBy?: string;
  /** Id of the key that it replaces, which must be usable. */
  readonly rotates?: string;
}

const FORM = /^hf_([a-z2-7]{16})_([A-Za-z0-9_-]{43})$/;

export interface PresentedKey {
  readonly id: string;
  readonly secret: string;
}

/** Undefined when it cannot be one. */
export function readKey(text: string): PresentedKey | undefined {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function writeKey({ id, secret }: PresentedKey): string {
  const text = `hf_${id}_${secret}`;
  if (!FORM.test(text))
    throw new InvalidInput('A key is made of 16 base32 and 43 base64url letters.');
  return text;
}

/** As history, audit and `createdBy` name who acted by a key. Names are not unique; ids are (J-8). */
export function nameWithKey(name: string, id: string): string {
  return `${name} (${id})`;
}

/** P-13: whether the key with this id made it. The SQL stores compare the same end of `createdBy`. */
export function isMadeBy({ createdBy }: Pick<AccessKey, 'createdBy'>, id: string): boolean {
  return createdBy?.endsWith(` (${id})`) === true;
}

/** P-10: from the millisecond of its end on, it is over. */
export function isUsable(key: AccessKey, now: Instant): boolean {
  if (key.endedAt !== undefined && key.endedAt <= now) return false;
  return key.expiresAt === undefined || key.expiresAt > now;
}

// A project: a tenant, as the deployment knows it. Embedded executions may name any project; through a
// coordinator only those that were put here are reachable.

export interface Project {
  readonly name: ProjectName;
  readonly createdAt: Instant;
  readonly settings: ProjectSettings;
}

export interface ProjectSettings {
  /** What people call it. */
  readonly title?: string;
  /** How long the ended are kept, by how they ended; as the deployment says where nothing is said (F-1). */
  readonly keepMs?: KeepMs;
  /** How much it may have, where that differs from what the coordinator allows every project (P-14). */
  readonly quotas?: Partial<Quotas>;
}

// What a key allows. Roles do not contain each other: a worker's key cannot submit, an operator's cannot work.
// `admin` alone is for the deployment: projects and keys.

export type Role = 'submit' | 'work' | 'operate' | 'admin';

export const ROLES: readonly Role[] = ['submit', 'work', 'operate', 'admin'];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}
