// Access keys
//
// The coordinator shows a key once, when it creates it: `hf_<id>_<secret>`. The store keeps the id
// and a digest of the secret. The secret has 256 random bits, so one round of SHA-256 suffices and
// no slow hash is needed.
//
// A key never changes (P-4). Only operators learn that a key has ended or expired (P-10).

import { timingSafeEqual } from 'node:crypto';
import type { ProjectName } from '../../execution/names.ts';
import { unreachable } from '../../support/assert.ts';
import type { Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { InvalidInput } from '../../support/fault.ts';
import { secureBytes } from '../../support/random.ts';
import type { KeepMs } from '../retention/model.ts';

export interface AccessKey {
  /** Not secret: lists, logs and audit records show it. */
  readonly id: string;
  /** Undefined for a key of all projects. */
  readonly project?: ProjectName;
  readonly roles: readonly Role[];
  /** The name for people. */
  readonly name: string;
  /** SHA-256 of the secret, as hex. */
  readonly digest: string;
  readonly createdAt: Instant;
  readonly createdBy?: string;
  readonly expiresAt?: Instant;
  /** The time of revocation or rotation. */
  readonly revokedAt?: Instant;
}

/** A request for a key. The store's clock adds the times (P-7). */
export interface KeyRequest extends Omit<AccessKey, 'createdAt' | 'revokedAt' | 'expiresAt'> {
  readonly expiresInMs?: number;
  /** The id of the creating key. It must be usable, and the new key ends no later (P-12). */
  readonly createdByKey?: string;
  /** The id of the key that it replaces, which must be usable. */
  readonly rotates?: string;
}

const FORM = /^hf_([a-z2-7]{16})_([A-Za-z0-9_-]{43})$/;

interface PresentedKey {
  readonly id: string;
  readonly secret: string;
}

/** Undefined if the text does not have the form of a key. */
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

/**
 * Names the actor of a key in history, audit and `createdBy`. Names are not unique; ids are (J-8).
 */
export function nameWithKey(name: string, id: string): string {
  return `${name} (${id})`;
}

/** The key is over from the millisecond of its end (P-10). */
export function isUsable(key: AccessKey, now: Instant): boolean {
  if (key.revokedAt !== undefined && key.revokedAt <= now) return false;
  return key.expiresAt === undefined || key.expiresAt > now;
}

// A project is a tenant of the deployment. Embedded executions may name any project. Through a
// coordinator, callers reach only projects that an admin created.

export interface Project {
  readonly name: ProjectName;
  readonly createdAt: Instant;
  readonly settings: ProjectSettings;
}

export interface ProjectSettings {
  /** The name for people. */
  readonly title?: string;
  /** Retention by status. The deployment's settings apply where this has no value (F-1). */
  readonly keepMs?: KeepMs;
  /** Limits that differ from the coordinator's defaults (P-14). */
  readonly quotas?: Partial<Quotas>;
}

// The permissions of a key. Roles do not inherit from each other: a worker's key cannot submit, and
// an operator's key cannot work. Only `admin` manages the deployment: projects and keys.

export const ROLES = ['submit', 'work', 'lease', 'operate', 'admin'] as const;

export type Role = (typeof ROLES)[number];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}

// Limits on what one project may hold at a time, so that no project crowds out the others. One
// table: settings, checks and refusals derive from it.

/** These change too often for a count in each statement, so each coordinator counts them (P-14). */
export type CountedQuota = 'executions' | 'sessions' | 'leases' | 'bytes';

export type QuotaName = CountedQuota | 'schedules' | 'keys' | 'views' | 'channels';

export type Quotas = Readonly<Record<QuotaName, number>>;

interface Quota {
  readonly default: number;
  readonly max: number;
  /** The counted things. */
  readonly of: string;
  /** Advice for getting below the quota again. */
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
  leases: {
    ...{ default: 100_000, max: MANY, of: 'lease keys' },
    less: 'Release keys whose work is done for good as retired',
  },
  keys: { default: 1_000, max: MANY, of: 'usable keys', less: 'Revoke some' },
  // One page of a list has them all.
  views: { default: 200, max: 1_000, of: 'saved views', less: 'Delete some' },
  channels: { default: 20, max: 1_000, of: 'channels', less: 'Delete some' },
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

/** Gives the cause, the effect and the next action. */
export function describeOverQuota(project: string, name: QuotaName, limit: number): string {
  const { of, less } = QUOTAS[name];
  return `Project ${JSON.stringify(project)} may have at most ${limit} ${of}. Nothing was written. ${less}, or raise the quota: holdfast projects put ${project} --quota ${name}=<number>, or quotas.${name} for all projects.`;
}

// Refusals of operations on keys: every expected negative result, with the facts that its reader
// needs.

export interface OverQuota {
  readonly why: 'over-quota';
  readonly project: ProjectName;
  readonly quota: QuotaName;
  readonly limit: number;
}

/** The result of creating or replacing a row that has a quota. */
export type PutWithinQuota =
  /** `changed` is false if the same content was stored already. */
  { readonly kind: 'put'; readonly changed: boolean } | ({ readonly kind: 'refused' } & OverQuota);

export type CreateKeyRefusal =
  | OverQuota
  | { readonly why: 'project-unknown'; readonly project: ProjectName }
  /** This id exists with other content; a key never changes. */
  | { readonly why: 'key-taken'; readonly id: string }
  | { readonly why: 'not-first' }
  /** The key that creates it, or that it replaces. */
  | { readonly why: 'key-ended'; readonly id: string };

export interface RevokeKeyRefusal {
  readonly why: 'key-unknown';
  readonly id: string;
}

type AccessRefusal = CreateKeyRefusal | RevokeKeyRefusal;

/** Gives the cause, the effect and the next action. */
export function describeAccessRefusal(refusal: AccessRefusal): string {
  switch (refusal.why) {
    case 'project-unknown':
      return `There is no project ${JSON.stringify(refusal.project)}. Nothing was written. Create it (holdfast projects put), or check its name.`;
    case 'key-taken':
      return `Another access key has the id ${refusal.id}. Nothing was written. Create a new key.`;
    case 'not-first':
      return 'The store has access keys, so this is not the first one. Nothing was written. Create it with one of those keys.';
    case 'key-ended':
      return `Key ${refusal.id} has ended. Nothing was written. Create the new key with another key.`;
    case 'over-quota':
      return describeOverQuota(refusal.project, refusal.quota, refusal.limit);
    case 'key-unknown':
      return `There is no access key ${refusal.id} in your scope. Nothing was written. Check the id and the project.`;
    default:
      return unreachable(refusal);
  }
}

// Creates the secret of a key. The caller sees it once; the store keeps only its digest (P-3).

interface NewKey extends PresentedKey {
  readonly digest: string;
}

const ID_BYTES = 10;
const SECRET_BYTES = 32;

/** `bytes` must be as random as the default: a caller who can guess them has the key. */
export function newKey(bytes: (count: number) => Uint8Array = secureBytes): NewKey {
  const secret = Buffer.from(bytes(SECRET_BYTES)).toString('base64url');
  return { id: base32(bytes(ID_BYTES)), secret, digest: digestOfSecret(secret) };
}

/**
 * Digests the text itself. Several texts decode to the same bytes, and then they would share a
 * digest.
 */
export function digestOfSecret(secret: string): string {
  return digestOf(Buffer.from(secret));
}

/**
 * Checks that the presented secret belongs to this key and that the key is usable now (P-10). A
 * missing or ended key takes as long to reject as a wrong secret.
 */
export function opens(
  key: AccessKey | undefined,
  presented: PresentedKey,
  now: Instant,
): key is AccessKey {
  const shown = Buffer.from(digestOfSecret(presented.secret));
  const stored = Buffer.from(key?.digest ?? NO_DIGEST);
  const isEqual = stored.length === shown.length && timingSafeEqual(stored, shown);
  return key !== undefined && isEqual && key.id === presented.id && isUsable(key, now);
}

/** Has the length of a digest but matches none. */
const NO_DIGEST = '-'.repeat(64);

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Base32 as in RFC 4648, in small letters, for whole groups of five bytes only. */
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
