// Signed answer links. A token names the interaction, its expiry, and the key that signed it. The
// holder of a token may answer that interaction once, because an interaction has one answer (W-4).
//
// token = base64url(claims as JSON) "." base64url(HMAC-SHA256 of the first part)

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { InteractionId, ProjectName } from '../../execution/names.ts';
import type { LinkRefusal } from '../../execution/refusal.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { InvalidInput } from '../../support/fault.ts';
import { readHidden, readHiddenEntries } from '../../support/hidden-options.ts';
import type { AnswerRequest } from './decide.ts';

/** Keys that sign answer links. */
export interface LinkOptions {
  /** Secrets of at least 32 bytes, by id. Removing a key invalidates the links that it signed. */
  readonly keys: Readonly<Record<string, string | Uint8Array>>;
  /** The id of the key that signs new links. */
  readonly current: string;
}

interface LinkClaims {
  readonly interaction: InteractionId;
  readonly project: ProjectName;
  /** The position, if the link allows an answer before the execution asks. */
  readonly place?: NonNullable<AnswerRequest['place']>;
  readonly exp: Instant;
  readonly kid: string;
}

type LinkVerified =
  | { readonly kind: 'verified'; readonly claims: LinkClaims }
  | { readonly kind: 'refused'; readonly refusal: LinkRefusal };

const SECRET_BYTES_MIN = 32;
const TOKEN_CHARACTERS_MAX = 4_096;
const INVALID: LinkVerified = Object.freeze({
  kind: 'refused',
  refusal: Object.freeze({ why: 'link-invalid' }),
});

/** Names a link in the audit; it does not work as a link. */
export function linkId(token: string): string {
  return digestOf(Buffer.from(token)).slice(0, 16);
}

export class AnswerLinks {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #current: string;

  constructor(options: LinkOptions) {
    ({ keys: this.#keys, current: this.#current } = checkedKeys('links', options));
  }

  sign(claims: Omit<LinkClaims, 'kid'>): string {
    const kid = this.#current;
    const encoded = Buffer.from(JSON.stringify({ ...claims, kid })).toString('base64url');
    return `${encoded}.${this.#signatureOf(encoded, kid)?.toString('base64url')}`;
  }

  /** Does not reveal which part of a token is wrong. */
  verify(token: unknown, nowMs: number): LinkVerified {
    if (typeof token !== 'string' || token.length > TOKEN_CHARACTERS_MAX) return INVALID;
    const [encoded = '', signature = '', ...rest] = token.split('.');
    if (rest.length > 0) return INVALID;
    const claims = claimsOf(encoded);
    if (claims === undefined || !this.#isSigned(encoded, signature, claims.kid)) return INVALID;
    if (claims.exp <= nowMs) {
      return { kind: 'refused', refusal: { why: 'link-expired', at: toInstant(claims.exp) } };
    }
    return { kind: 'verified', claims };
  }

  #isSigned(encoded: string, signature: string, kid: string): boolean {
    const expected = this.#signatureOf(encoded, kid);
    const given = Buffer.from(signature, 'base64url');
    // A signature has exactly one accepted spelling.
    if (expected === undefined || signature !== given.toString('base64url')) return false;
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  #signatureOf(encoded: string, kid: string): Buffer | undefined {
    const secret = this.#keys.get(kid);
    return secret && createHmac('sha256', secret).update(encoded).digest();
  }
}

/** Do not trust the result before the signature is checked. */
function claimsOf(encoded: string): LinkClaims | undefined {
  try {
    const claims = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Partial<LinkClaims>;
    const isComplete =
      typeof claims?.kid === 'string' &&
      typeof claims.interaction === 'string' &&
      typeof claims.project === 'string' &&
      typeof claims.exp === 'number';
    return isComplete ? (claims as LinkClaims) : undefined;
  } catch {
    return undefined;
  }
}

/** Checks keys that sign, without showing them. */
export function checkedKeys(
  what: string,
  options: LinkOptions,
): { readonly keys: ReadonlyMap<string, Uint8Array>; readonly current: string } {
  const { keys: given, current } = readHidden(what, options, ['keys', 'current']);
  const entries = readHiddenEntries(`${what}: keys`, given, '{ k1: secret }');
  const keys = new Map(
    entries.map(([id, secret], index) => [id, checkedSecret(what, { id, secret, index })]),
  );
  if (typeof current === 'string' && keys.has(current)) return { keys, current };
  throw new InvalidInput(
    `${what}: current must be the id of one of keys. The value given is not, and is hidden.`,
  );
}

interface GivenSecret {
  readonly id: string;
  readonly secret: unknown;
  readonly index: number;
}

function checkedSecret(what: string, { id, secret, index }: GivenSecret): Uint8Array {
  if (id === '' || Buffer.byteLength(id) > 64) {
    throw new InvalidInput(
      `${what}: the id of key ${index + 1} must have 1 to 64 bytes. It is hidden.`,
    );
  }
  const isFit = typeof secret === 'string' || secret instanceof Uint8Array;
  const bytes = isFit ? Buffer.from(secret as string) : Buffer.alloc(0);
  if (bytes.length >= SECRET_BYTES_MIN) return bytes;
  throw new InvalidInput(
    `${what}: the secret of key ${index + 1} must be text or bytes, at least ${SECRET_BYTES_MIN} bytes long.`,
  );
}
