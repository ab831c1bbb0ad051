import { createHash } from 'node:crypto';

/** SHA-256 as hex: compares byte strings without keeping both. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
