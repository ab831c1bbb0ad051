// Signed messages, for channels that others can write to: queues and push endpoints. The claims
// name the receiving side, the time of signing and the expiry. So a message that waited long is
// still valid, but a reflected one is not. Fence and seq detect a repeated message (M-1, M-13).
//
// text = "hf1." key id "." base64url(HMAC-SHA256 of what follows the first line, and the key id)
// "\n" claims as JSON

import { createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidInput } from '../../support/fault.ts';
import { readHidden, readHiddenEntries } from '../../support/hidden-options.ts';
import { shown } from '../../support/options.ts';

/** Keys that sign messages. */
export interface SigningOptions {
  /**
   * Secrets of at least 32 bytes, by id. Removing a key invalidates the messages that it signed.
   */
  readonly keys: Readonly<Record<string, string | Uint8Array>>;
  /** The id of the key that signs new messages. */
  readonly current: string;
}

export interface SignedClaims {
  readonly to: 'coordinator' | 'worker';
  /** Milliseconds since 1970: the time of signing, and the expiry. */
  readonly at: number;
  readonly until: number;
}

export type SignatureVerified<Claims extends SignedClaims> =
  | { readonly kind: 'verified'; readonly claims: Claims; readonly kid: string }
  /** The signature is valid, but the message has expired. */
  | { readonly kind: 'expired'; readonly claims: Claims; readonly kid: string }
  /** The signature is not valid, so the content cannot be trusted. */
  | { readonly kind: 'invalid'; readonly why: string };

const VERSION = 'hf1';
const SECRET_BYTES_MIN = 32;
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/;
const TIME_MS_MAX = 8.64e15;
/** The largest accepted difference between two machines' clocks. */
export const SKEW_MS = 30_000;

export class Signer {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #current: string;

  constructor(what: string, options: SigningOptions) {
    const { keys, current } = readHidden(what, options, ['keys', 'current']);
    const entries = readHiddenEntries(`${what}: keys`, keys, '{ k1: secret }');
    this.#keys = new Map(
      entries.map(([id, secret], index) => [
        requireKeyId(what, id, index),
        checkedSecret(what, secret, index),
      ]),
    );
    if (typeof current !== 'string' || !this.#keys.has(current)) {
      throw new InvalidInput(
        `${what}: current must be the id of one of keys. The value given is not, and is hidden.`,
      );
    }
    this.#current = current;
  }

  /** A holder of one signer's keys could sign as the other. */
  sharesKeysWith(other: Signer): boolean {
    const others = [...other.#keys.values()];
    return [...this.#keys.values()].some((key) => others.some((each) => isSameSecret(key, each)));
  }

  /** Signs with the given key, for a reader that has that one. */
  sign(claims: SignedClaims, kid: string = this.#current): string {
    // Queues do not accept every character.
    const payload = asciiJson(claims);
    return `${VERSION}.${kid}.${this.#signatureOf(payload, kid)?.toString('base64url')}\n${payload}`;
  }

  verify<Claims extends SignedClaims>(
    text: string,
    { to, nowMs }: { readonly to: SignedClaims['to']; readonly nowMs: number },
  ): SignatureVerified<Claims> {
    const line = text.indexOf('\n');
    const [version, kid = '', signature = '', ...rest] = text
      .slice(0, Math.max(0, line))
      .split('.');
    if (line < 0 || version !== VERSION || rest.length > 0) return invalid('it is not signed');
    const payload = text.slice(line + 1);
    const expected = this.#signatureOf(payload, kid);
    if (expected === undefined) return invalid(`key ${shown(kid)} is not known`);
    const given = Buffer.from(signature, 'base64url');
    if (!isSameSecret(given, expected)) return invalid('its signature does not match its content');
    const claims = JSON.parse(payload) as Claims;
    if (claims.to !== to) return invalid('it is addressed to the other side');
    if (![claims.at, claims.until].every(isTime)) return invalid('its times are not valid');
    const isOver = nowMs > claims.until + SKEW_MS;
    return { kind: isOver ? 'expired' : 'verified', claims, kid };
  }

  #signatureOf(payload: string, kid: string): Buffer | undefined {
    const secret = this.#keys.get(kid);
    return secret && createHmac('sha256', secret).update(`${VERSION}.${kid}\n${payload}`).digest();
  }
}

/** Milliseconds in the range of a Date. */
function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= TIME_MS_MAX;
}

/** Compares two secrets in constant time. */
export function isSameSecret(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function invalid(why: string): { readonly kind: 'invalid'; readonly why: string } {
  return { kind: 'invalid', why };
}

function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Shows neither: a user who swaps them has the secret in place of the id. */
function requireKeyId(what: string, id: string, index: number): string {
  if (KEY_ID.test(id)) return id;
  throw new InvalidInput(
    `${what}: the id of key ${index + 1} must be at most 64 letters, digits, "-" and "_". It is hidden.`,
  );
}

function checkedSecret(what: string, secret: unknown, index: number): Uint8Array {
  const isFit = typeof secret === 'string' || secret instanceof Uint8Array;
  const bytes = isFit ? Buffer.from(secret as string) : Buffer.alloc(0);
  if (bytes.length >= SECRET_BYTES_MIN) return bytes;
  throw new InvalidInput(
    `${what}: the secret of key ${index + 1} must be text or bytes, at least ${SECRET_BYTES_MIN} bytes long.`,
  );
}
