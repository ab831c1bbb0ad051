// A codec for AES-256-GCM with a fresh nonce for every value. It encrypts with the first key and
// decrypts with all, so keys can rotate by id.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { isUint8Array } from 'node:util/types';
import { Fault, InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  optionalBooleans,
  readList,
  readOptions,
  shown,
} from '../../support/options.ts';
import { secureBytes } from '../../support/random.ts';
import type { PayloadCodec, PayloadContext } from './payloads.ts';

/** An encryption key with a name. */
export interface CodecKey {
  /** The name of the key, at most 64 bytes. It is stored with every value. */
  readonly id: string;
  /** The key: 32 bytes. */
  readonly key: Uint8Array;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TAG = { authTagLength: TAG_BYTES };

/**
 * Makes a codec that encrypts values with AES-256-GCM. The first key encrypts; all keys decrypt.
 *
 * Keep an old key for as long as values that it encrypted are kept. If `required` is true (default
 * false), values that were stored unencrypted are refused. Throws `InvalidInput` for invalid keys.
 * Decoding throws a `Fault` with code `codec-key-missing` or `codec-refused`.
 *
 * @example
 * import { randomBytes } from 'node:crypto';
 *
 * const codec = aesCodec([{ id: '2026-11', key: randomBytes(32) }], { required: true });
 * await using encrypted = await openHoldfast({ store: './holdfast.db', codec });
 */
export function aesCodec(
  keys: readonly CodecKey[],
  options: { readonly required?: boolean } = {},
): PayloadCodec {
  const { required = false } = readOptions('aesCodec', options, ['required']);
  optionalBooleans('aesCodec', { required });
  const checked = readList('aesCodec: keys', keys).map(checkedKey);
  const [current] = checked;
  if (current === undefined) {
    throw new InvalidInput('aesCodec: keys must have at least one { id, key }.');
  }
  const byId = new Map(checked.map(({ by, key }) => [by, key]));
  if (byId.size !== checked.length) {
    throw new InvalidInput('aesCodec: two of keys have the same id. Give each its own.');
  }
  return {
    required,
    encode(bytes, context) {
      const nonce = secureBytes(NONCE_BYTES);
      const { by, key } = current;
      const cipher = createCipheriv(ALGORITHM, key, nonce, TAG).setAAD(boundTo(by, context));
      const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
      return { by, bytes: Buffer.concat([nonce, cipher.getAuthTag(), body]), ...context };
    },
    decode({ by, bytes }, context) {
      const key = byId.get(by);
      if (key === undefined) {
        throw new Fault(
          'codec-key-missing',
          `A value was encrypted with key "${by}", which this process does not have (it has ${[...byId.keys()].join(', ')}). Pass it to aesCodec after the current key: aesCodec([current, { id, key }]). Then resume the execution.`,
        );
      }
      const tagEnd = NONCE_BYTES + TAG_BYTES;
      try {
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), TAG)
          .setAAD(boundTo(by, context))
          .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd));
        return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]);
      } catch (cause) {
        throw new Fault(
          'codec-refused',
          `A value encrypted with key "${by}" cannot be decrypted: it was changed or copied in the store, or the key with that id has other bytes. Restore the value or the key.`,
          { cause },
        );
      }
    },
  };
}

/** Older values are bound only to their key. */
function boundTo(by: string, context: PayloadContext | undefined): Buffer {
  return Buffer.from(context === undefined ? by : `${by}\n${context.at}`);
}

/** Copies the key, so that later changes of the caller's buffer have no effect. */
function checkedKey(given: unknown): { readonly by: string; readonly key: Uint8Array } {
  // The value may be a secret key: never show it.
  if (typeof given !== 'object' || given === null || isUint8Array(given)) {
    throw new InvalidInput('aesCodec: each of keys must be an object, such as { id, key }.');
  }
  const { id, key } = readOptions('aesCodec: key', given as CodecKey, ['id', 'key']);
  const by = `${ALGORITHM}:${boundedText('The id of a key', id, 64)}`;
  if (!isUint8Array(key)) {
    throw new InvalidInput(
      `aesCodec: key ${shown(id)} must be a Uint8Array of ${KEY_BYTES} bytes.`,
    );
  }
  if (key.length !== KEY_BYTES) {
    throw new InvalidInput(
      `aesCodec: key ${shown(id)} must have ${KEY_BYTES} bytes; it has ${key.length}.`,
    );
  }
  return { by, key: Uint8Array.from(key) };
}
