// What each key had saved when each of its grants was given, as far as holders reported it: the last
// checkpoint and the one before it, lived through term by term as a store does (K-1, K-5).

import type { Fence } from '../../lease/fence.ts';
import type { SavedCheckpoint } from '../../lease/observer.ts';
import type { Place } from '../lease-log/entry.ts';
import type { Facts, Operation, ToldGrant } from './facts.ts';

export interface Kept {
  readonly seq: number;
  readonly digest: string;
  readonly fence: Fence;
  readonly place: Place;
}

export interface KeyHistory {
  readonly grant: ToldGrant;
  readonly last: Kept | undefined;
  /** Absent when there was none, or when it is not known. */
  readonly before: Kept | undefined;
  /** Every term since the last one that is known has told of its grant and dropped no report. */
  readonly isSure: boolean;
}

type Save = Operation & { readonly saved: SavedCheckpoint; readonly fence: Fence };

export function keyHistories(
  facts: Facts,
  savesOf: ReadonlyMap<Fence, readonly Save[]>,
): readonly KeyHistory[] {
  const fencesOf = new Map<string, Set<Fence>>();
  const note = (key: string, fence: Fence): void => {
    fencesOf.set(key, (fencesOf.get(key) ?? new Set()).add(fence));
  };
  for (const { key, fence } of facts.toldOf.values()) note(key, fence);
  for (const saves of savesOf.values())
    for (const { key, fence } of saves) if (key !== undefined) note(key, fence);
  return [...fencesOf.values()].flatMap((fences) => {
    const ordered = [...fences].sort((a, b) => a - b);
    return historyOf(ordered, facts, savesOf);
  });
}

function historyOf(
  fences: readonly Fence[],
  facts: Facts,
  savesOf: ReadonlyMap<Fence, readonly Save[]>,
): readonly KeyHistory[] {
  const histories: KeyHistory[] = [];
  let last: Kept | undefined;
  let before: Kept | undefined;
  let previous: Fence | undefined;
  for (const fence of fences) {
    const grant = facts.toldOf.get(fence);
    if (grant !== undefined) {
      const { predecessor, restored, wentBack } = grant.granted;
      const isNext = previous === undefined || predecessor.fence === previous;
      const isSure = isNext && (previous === undefined || facts.toldOf.has(previous));
      const isWhole = facts.dropped === 0;
      histories.push({ grant, last, before, isSure: isSure && isWhole });
      const isLast = last !== undefined && isSame(last, restored);
      if (wentBack === true || !isLast) before = undefined;
      last = restored && { ...restored, place: grant.place };
    }
    for (const { saved, place } of savesOf.get(fence) ?? []) {
      const { seq, digest } = saved;
      const next = { seq, digest, fence, place };
      if (last !== undefined && isSame(last, next)) continue;
      before = last;
      last = next;
    }
    previous = fence;
  }
  return histories;
}

function isSame(kept: Kept, other: Omit<Kept, 'place'> | undefined): boolean {
  return kept.fence === other?.fence && kept.seq === other.seq && kept.digest === other.digest;
}
