// Access keys
//
// A key is shown once, when it is made: `hf_<id>_<secret>`. What is stored is the id and a digest of the
// secret, which has 256 random bits, so that one round of SHA-256 is enough and nothing has to be slow.
//
// What a key is never changes (P-4); that it has ended or expired is told to nobody but operators (P-10).

import { timingSafeEqual } from 'node:crypto';
import type { ProjectName } from '../../execution/names.ts';
import { unreachable } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { InvalidInput } from '../../support/fault.ts';
import { secureBytes } from '../../support/random.ts';
import type { KeepMs } from '../retention/model.ts';

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

interface PresentedKey {
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

export const ROLES = ['submit', 'work', 'operate', 'admin'] as const;

export type Role = (typeof ROLES)[number];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}

// How much of each thing one project may have at a time, so that no project takes the room of the others. One table:
// settings, checks and refusals are made from it.

/** Changed too often for a count in each statement: each coordinator counts (P-14). */
export type CountedQuota = 'executions' | 'sessions' | 'bytes';

export type QuotaName = CountedQuota | 'schedules' | 'keys';

/** How much a project may have. */
export type Quotas = Readonly<Record<QuotaName, number>>;

interface Quota {
  readonly default: number;
  readonly max: number;
  /** What is counted. */
  readonly of: string;
  /** How a project comes below its quota again. */
  readonly less: string;
}

const MANY = 1_000_000_000;
const BYTES = 100 * 1024 * 1024 * 1024;

export const QUOTAS: Readonly<Record<QuotaName, Quota>> = {
  executions: {
    ...{ default: 1_000_000, max: MANY, of: 'open executions' },
    less: 'Wait until some have ended, or cancel some',
  },
  schedules: { default: 10_000, max: MANY, of: 'schedules', less: 'Remove some' },
  sessions: { default: 10_000, max: MANY, of: 'live sessions', less: 'Stop some workers' },
  keys: { default: 1_000, max: MANY, of: 'usable keys', less: 'Revoke some' },
  bytes: {
    ...{ default: BYTES, max: Number.MAX_SAFE_INTEGER },
    of: 'bytes of large values and attachments',
    less: 'Store less',
  },
};

export const QUOTA_NAMES: readonly QuotaName[] = Object.keys(QUOTAS) as QuotaName[];

export const DEFAULT_QUOTAS: Quotas = Object.fromEntries(
  QUOTA_NAMES.map((name) => [name, QUOTAS[name].default]),
) as Quotas;

/** What was refused, why, and what to do next. */
export function describeOverQuota(project: string, name: QuotaName, limit: number): string {
  const { of, less } = QUOTAS[name];
  return `Project ${JSON.stringify(project)} may have ${limit} ${of}, and this would be more. Nothing was written. ${less}, or let an operator raise the quota: holdfast projects put ${project} --quota ${name}=<number>, or quotas.${name} for all projects.`;
}

// Refusals of what is done to keys: every expected no, with what its reader needs to act on it.

export interface OverQuota {
  readonly why: 'over-quota';
  readonly project: ProjectName;
  readonly quota: QuotaName;
  readonly limit: number;
}

export type AddKeyRefusal =
  | OverQuota
  | { readonly why: 'project-unknown'; readonly project: ProjectName }
  /** This id exists with other content; a key never changes. */
  | { readonly why: 'key-taken'; readonly id: string }
  | { readonly why: 'not-first' }
  /** The key that makes it, or that it replaces. */
  | { readonly why: 'key-ended'; readonly id: string };

export interface EndKeyRefusal {
  readonly why: 'key-unknown';
  readonly id: string;
}

type AccessRefusal = AddKeyRefusal | EndKeyRefusal;

/** What happened, why, and what to do next. */
export function describeAccessRefusal(refusal: AccessRefusal): string {
  switch (refusal.why) {
    case 'project-unknown':
      return `There is no project ${JSON.stringify(refusal.project)}. Put it first, or check its name.`;
    case 'key-taken':
      return `Key ${refusal.id} exists already and is another one. Make a new one.`;
    case 'not-first':
      return 'There are keys already, so this one would not be the first. Use one of those to make it.';
    case 'key-ended':
      return `Key ${refusal.id} has ended. Nothing was written. Make a new key with another one.`;
    case 'over-quota':
      return describeOverQuota(refusal.project, refusal.quota, refusal.limit);
    case 'key-unknown':
      return `There is no key ${refusal.id} that you could end. Check the id and the project.`;
    default:
      return unreachable(refusal);
  }
}

// The secret of a key: made here, told once, and from then on known by its digest only (P-3).

interface NewKey extends PresentedKey {
  readonly digest: string;
}

const ID_BYTES = 10;
const SECRET_BYTES = 32;

/** `bytes` must be as good as the default: whoever can guess them has the key. */
export function newKey(bytes: (count: number) => Uint8Array = secureBytes): NewKey {
  const secret = Buffer.from(bytes(SECRET_BYTES)).toString('base64url');
  return { id: base32(bytes(ID_BYTES)), secret, digest: digestOfSecret(secret) };
}

/** Of its letters: no two texts have the same one, as they would if they were decoded. */
export function digestOfSecret(secret: string): string {
  return digestOf(Buffer.from(secret));
}

/**
 * P-10: whether this is the key that was presented, and good now. It takes as long for a key that is not
 * there, or no longer good, as for a wrong secret.
 */
export function opens(
  key: AccessKey | undefined,
  presented: PresentedKey,
  now: Instant,
): key is AccessKey {
  const shown = Buffer.from(digestOfSecret(presented.secret));
  const stored = Buffer.from(key?.digest ?? NOBODYS);
  const isEqual = stored.length === shown.length && timingSafeEqual(stored, shown);
  return key !== undefined && isEqual && key.id === presented.id && isUsable(key, now);
}

/** Of the length of a digest, and none. */
const NOBODYS = '-'.repeat(64);

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** As RFC 4648 has it, in small letters; of whole groups of five bytes only. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += BASE32.charAt((held >> (bits - 5)) & 31);
    held &= (1 << bits) - 1;
  }
  return text;
}
