// A ready codec: AES-256-GCM, a fresh nonce for every value, key ids for rotation. New values use the
// first key; all keys read.

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { Fault, InvalidInput } from '../support/fault.ts';
import { boundedText } from '../support/options.ts';
import { secureBytes } from '../support/random.ts';
import type { PayloadCodec } from './payloads.ts';

export interface CodecKey {
  readonly id: string;
  /** 32 bytes. */
  readonly key: Uint8Array;
}

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `keys[0]` encrypts. Keep old keys for as long as anything they encrypted is kept. */
export function aesCodec(keys: readonly CodecKey[]): PayloadCodec {
  const [current] = keys;
  if (current === undefined) throw new InvalidInput('aesCodec needs at least one key.');
  const byId = new Map(keys.map(({ id, key }) => [named(id), checked(id, key)]));
  if (byId.size !== keys.length) throw new InvalidInput('aesCodec: two keys have the same id.');
  return {
    encode(bytes) {
      const nonce = secureBytes(NONCE_BYTES);
      const by = named(current.id);
      const cipher = createCipheriv(ALGORITHM, current.key, nonce).setAAD(Buffer.from(by));
      const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
      return { by, bytes: Buffer.concat([nonce, cipher.getAuthTag(), body]) };
    },
    decode({ by, bytes }) {
      const key = byId.get(by);
      if (key === undefined) {
        throw new Fault(
          'codec-key-missing',
          `A value was encrypted with "${by}", which this process does not have (it has ${[...byId.keys()].join(', ')}). Add the key to aesCodec after the current one.`,
        );
      }
      const tagEnd = NONCE_BYTES + TAG_BYTES;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(by))
        .setAuthTag(bytes.subarray(NONCE_BYTES, tagEnd));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(tagEnd)), decipher.final()]);
      } catch (cause) {
        throw new Fault(
          'codec-refused',
          `A value encrypted with "${by}" cannot be read: it was changed, or the key with that id is another one.`,
          { cause },
        );
      }
    },
  };
}

function named(id: string): string {
  return `${ALGORITHM}:${boundedText('The id of a key', id, 64)}`;
}

function checked(id: string, key: Uint8Array): Uint8Array {
  if (key.length !== 32) {
    throw new InvalidInput(`aesCodec: key "${id}" must have 32 bytes; it has ${key.length}.`);
  }
  return key;
}
