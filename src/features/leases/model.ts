// The lease keys of a project. In the store, each begins with its project, so that projects never
// contend. The project is encoded: its name may contain the separator, or be one text in two forms
// of Unicode.

import type { ProjectName } from '../../execution/names.ts';
import { KEY_BYTES_MAX, type LeaseKey, parseLeaseKey } from '../../lease/names.ts';
import { InvalidInput } from '../../support/fault.ts';

const SEPARATOR = ':';

/** The beginning of all its keys in the store. */
export function keyPrefixOf(project: ProjectName): string {
  return `${encodeURIComponent(project)}${SEPARATOR}`;
}

/** All its keys in the store are from `first` and before `beyond`, in the order of bytes. */
export function keyRangeOf(project: ProjectName): {
  readonly first: string;
  readonly beyond: string;
} {
  const first = keyPrefixOf(project);
  // The character after the separator.
  return { first, beyond: `${first.slice(0, -1)};` };
}

/** The key in the store. Throws `InvalidInput` if it is too long there. */
export function storedKeyOf(project: ProjectName, given: string): LeaseKey {
  const key = parseLeaseKey(given);
  const stored = `${keyPrefixOf(project)}${key}`;
  if (Buffer.byteLength(stored) <= KEY_BYTES_MAX) return stored as LeaseKey;
  const most = Math.max(0, KEY_BYTES_MAX - keyPrefixOf(project).length);
  throw new InvalidInput(
    `In project ${JSON.stringify(project)}, a lease key may have at most ${most} bytes. Nothing was done. Use a shorter key.`,
  );
}

/** The key as its project knows it. Undefined if it is of another project, or of none. */
export function ownKeyOf(project: ProjectName, stored: LeaseKey): LeaseKey | undefined {
  const prefix = keyPrefixOf(project);
  return stored.startsWith(prefix) ? (stored.slice(prefix.length) as LeaseKey) : undefined;
}

/** The project of a key in the store. Undefined if no coordinator made the key. */
export function projectOfKey(stored: string): ProjectName | undefined {
  const end = stored.indexOf(SEPARATOR);
  if (end < 1) return undefined;
  try {
    return decodeURIComponent(stored.slice(0, end)) as ProjectName;
  } catch {
    return undefined;
  }
}
