// Names under which a store keeps values that executions give to others.

import { OWN_PREFIX } from '../../execution/names.ts';

/** The longest name of an update or a published value, in bytes: stored names have a prefix. */
export const UPDATE_NAME_BYTES_MAX = 200;

export function publishedName(name: string): string {
  return `${OWN_PREFIX}published/${name}`;
}

/** `token` follows from the key of the update. */
export function replyName(token: string): string {
  return `${OWN_PREFIX}reply/${token}`;
}

/** The name of the signal that carries an update. */
export function updateSignal(name: string): string {
  return `update:${name}`;
}

/** A stored value: an envelope, or the reason for which an update was rejected. */
export type StoredReply = { readonly out: object } | { readonly rejected: string };
