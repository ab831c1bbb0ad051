// The lease keys of a project. In the store, each begins with its project, so that projects never
// contend. The project is encoded: its name may contain the separator, or be one text in two forms
// of Unicode.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { parseBody } from '../../execution/history.ts';
import type { Payload, ProjectName } from '../../execution/names.ts';
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

// The leases of executions. The row of an execution keeps the state of each `ctx.lease` call that has
// not ended, beside the heartbeats of its steps. It is for explanations and decides nothing.

/** The beginning of the keys of `ctx.lease` calls. */
export const LEASE_CALL = 'lease:';

/** `waits`: the resource that it waits for. `holds`: the one that it holds, under this `fence`. */
export type LeaseCallState =
  | { readonly waits: string }
  | { readonly holds: string; readonly fence: number };

/** A stored value that no codec changed, so that a coordinator can read it. */
export function leaseCallDetails(state: LeaseCallState): Payload {
  return JSON.stringify({ v: state }) as Payload;
}

/** The states that its last owner left. */
export function leaseCallsOf({
  heartbeats = [],
}: Pick<ExecutionRecord, 'heartbeats'>): readonly LeaseCallState[] {
  return heartbeats.flatMap(({ key, details }) => {
    if (!key.startsWith(LEASE_CALL)) return [];
    const { v } = parseBody<{ v: LeaseCallState }>(details);
    return typeof v === 'object' && v !== null ? [v] : [];
  });
}

/** The resource that the execution waits for. */
export function waitedLeaseOf(execution: ExecutionRecord): string | undefined {
  const state = leaseCallsOf(execution).find((each) => 'waits' in each);
  return state === undefined ? undefined : String((state as { readonly waits: unknown }).waits);
}
