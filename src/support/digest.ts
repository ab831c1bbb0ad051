import { createHash } from 'node:crypto';

/** SHA-256 as hex: tells whether two byte strings are the same without keeping both. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
