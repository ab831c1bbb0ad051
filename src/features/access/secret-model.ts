// The secret of a key: made here, told once, and from then on known by its digest only (P-3).

import { timingSafeEqual } from 'node:crypto';
import type { Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { secureBytes } from '../../support/random.ts';
import { type AccessKey, isUsable, type PresentedKey } from './model.ts';

export interface NewKey extends PresentedKey {
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
