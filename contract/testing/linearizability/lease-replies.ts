// The parts of a reply that the model of leases compares with the history.

import { grantResult } from '../../../src/lease/decide/acquire.ts';
import type { Fence } from '../../../src/lease/fence.ts';
import type { LeaseRecord } from '../../../src/lease/lease.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import type { SessionChain } from '../../../src/lease/session.ts';

/** The properties of a grant that the history must agree with. */
export function granted(lease: LeaseRecord, own: SessionChain, replayed: boolean): object {
  const { fence, predecessor, intents, lossesSinceCheckpoint } = grantResult(
    lease,
    own,
    lease.grantedAt,
  );
  return {
    kind: 'granted',
    replayed,
    fence,
    predecessor: { exit: predecessor.exit, fence: predecessor.fence },
    intents: intents.map(({ effect }) => ({ effect })),
    lossesSinceCheckpoint,
    checkpoint: checkpointSeen(lease),
  };
}

export function recordSeen(lease: LeaseRecord): object {
  const { fence, session } = lease;
  return { fence, session, checkpoint: checkpointSeen(lease) };
}

function checkpointSeen({ checkpoint }: LeaseRecord): object | undefined {
  return checkpoint && { seq: checkpoint.seq, digest: checkpoint.digest };
}

export function refused(refusal: { readonly why: string }): object {
  const { why } = refusal;
  if ('holder' in refusal && typeof refusal.holder === 'object') {
    const { session, fence } = refusal.holder as { session: SessionId; fence: Fence };
    return { kind: 'refused', why, holder: { session, fence } };
  }
  return { kind: 'refused', why, ...('newest' in refusal ? { newest: refusal.newest } : {}) };
}

/** True if the history shows all that the model expects. It may show more. */
export function agrees(expected: unknown, seen: unknown, name = ''): boolean {
  if (typeof expected === 'number' && (name === 'fence' || name === 'newest')) {
    return (
      typeof seen === 'number' && (seen === expected || (isUnseen(expected) && seen > expected))
    );
  }
  // After an outage, the store may have given the holder more time.
  if (expected === 'held' && seen === 'reclaim-paused') return true;
  if (typeof expected !== 'object' || expected === null) return expected === seen;
  if (typeof seen !== 'object' || seen === null) return false;
  if (Array.isArray(expected) && expected.length !== (seen as readonly unknown[]).length)
    return false;
  return Object.entries(expected).every(([key, value]) =>
    agrees(value, (seen as Readonly<Record<string, unknown>>)[key], key),
  );
}

export function isUnseen(fence: number): boolean {
  return !Number.isInteger(fence);
}

/** The fence of the key's newest grant, where a reply shows it. */
export function seenFence(output: unknown): number | undefined {
  const { kind, fence, newest, holder, record } = (output ?? {}) as {
    readonly [Name in 'fence' | 'newest']?: number;
  } & {
    readonly kind?: string;
    readonly holder?: { readonly fence?: number };
    readonly record?: { readonly fence?: number };
  };
  return (kind === 'granted' ? fence : undefined) ?? newest ?? holder?.fence ?? record?.fence;
}

export function isRefused(output: unknown): boolean {
  return (output as { readonly kind?: string } | undefined)?.kind === 'refused';
}
