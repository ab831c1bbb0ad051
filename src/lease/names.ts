// Names of leases, sessions and owners. Each is a brand that only its parse function makes, so that
// no unchecked value reaches a store.

import type { Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, shown } from '../support/options.ts';

/** The key of a lease: text in Unicode form NFC, 1 to 512 bytes. */
export type LeaseKey = Brand<string, 'LeaseKey'>;
/**
 * The name of an owner, such as `billing-worker@host-3`, at most 256 bytes. Two processes may share
 * one.
 */
export type Owner = Brand<string, 'Owner'>;
/** The id of a session: one life of one process. Never reused. */
export type SessionId = Brand<string, 'SessionId'>;
/** The id of one attempt to acquire. Repeating a call with the same id is safe. */
export type AttemptId = Brand<string, 'AttemptId'>;
/** The caller's name of an external effect, such as `charge:order-17`. */
export type EffectId = Brand<string, 'EffectId'>;
/** The id of an operator's request. Repeating a request with the same id is safe. */
export type RequestId = Brand<string, 'RequestId'>;

export const KEY_BYTES_MAX = 512;
export const NAME_BYTES_MAX = 256;
export const TEXT_BYTES_MAX = 2_048;

/**
 * Checks a lease key and returns it in Unicode form NFC. Throws `InvalidInput`.
 *
 * @example
 * const key = parseLeaseKey('reports/daily');
 */
export function parseLeaseKey(value: unknown): LeaseKey {
  return boundedText('A lease key', normalised(value), KEY_BYTES_MAX) as LeaseKey;
}

/**
 * Checks the name of an owner and returns it in Unicode form NFC. Throws `InvalidInput`.
 *
 * @example
 * const owner = parseOwner('billing-worker@host-3');
 */
export function parseOwner(value: unknown): Owner {
  return boundedText('An owner', normalised(value), NAME_BYTES_MAX) as Owner;
}

export function parseEffectId(value: unknown): EffectId {
  return boundedText('An effect id', normalised(value), NAME_BYTES_MAX) as EffectId;
}

export function parseText(what: string, value: unknown): string {
  return boundedText(what, value, TEXT_BYTES_MAX);
}

/**
 * Checks a session id, a UUID in lower case. Throws `InvalidInput`.
 *
 * @example
 * const id = parseSessionId('018f4e3a-6d0c-7b1e-9c57-2f1a0c9d8e7b');
 */
export function parseSessionId(value: unknown): SessionId {
  return uuid('A session id', value) as SessionId;
}

export function parseAttemptId(value: unknown): AttemptId {
  return uuid('An attempt id', value) as AttemptId;
}

/**
 * Checks a request id, a UUID in lower case. Throws `InvalidInput`.
 *
 * @example
 * const request = parseRequestId(crypto.randomUUID());
 */
export function parseRequestId(value: unknown): RequestId {
  return uuid('A request id', value) as RequestId;
}

/** Two spellings of the same text are one key. */
function normalised(value: unknown): unknown {
  return typeof value === 'string' ? value.normalize('NFC') : value;
}

function uuid(what: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) {
    throw new InvalidInput(`${what} must be a UUID in lower case; got ${shown(value)}.`);
  }
  return value;
}
