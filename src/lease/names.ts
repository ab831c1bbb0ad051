// Names of leases, sessions and owners. Each is a brand that only its parse function makes, so that
// no unchecked value reaches a store.

import type { Brand } from '../support/assert.ts';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, shown } from '../support/options.ts';

/** What is owned. NFC, 1 to 512 bytes. */
export type LeaseKey = Brand<string, 'LeaseKey'>;
/** Who a person would say it is: `billing-worker@host-3`. Two processes may share one. */
export type Owner = Brand<string, 'Owner'>;
/** One life of one process. Never reused: it is what an owner's name is not. */
export type SessionId = Brand<string, 'SessionId'>;
/** One try to acquire. Repeating a call with the same id is safe. */
export type AttemptId = Brand<string, 'AttemptId'>;
/** One external effect, named by the caller, such as `charge:order-17`. */
export type EffectId = Brand<string, 'EffectId'>;
/** One act of an operator. Repeating it with the same one is safe. */
export type RequestId = Brand<string, 'RequestId'>;

export const KEY_BYTES_MAX = 512;
export const NAME_BYTES_MAX = 256;
export const TEXT_BYTES_MAX = 2_048;

export function parseLeaseKey(value: unknown): LeaseKey {
  return boundedText('A lease key', normalised(value), KEY_BYTES_MAX) as LeaseKey;
}

export function parseOwner(value: unknown): Owner {
  return boundedText('An owner', normalised(value), NAME_BYTES_MAX) as Owner;
}

export function parseEffectId(value: unknown): EffectId {
  return boundedText('An effect id', normalised(value), NAME_BYTES_MAX) as EffectId;
}

export function parseText(what: string, value: unknown): string {
  return boundedText(what, value, TEXT_BYTES_MAX);
}

export function parseSessionId(value: unknown): SessionId {
  return uuid('A session id', value) as SessionId;
}

export function parseAttemptId(value: unknown): AttemptId {
  return uuid('An attempt id', value) as AttemptId;
}

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
