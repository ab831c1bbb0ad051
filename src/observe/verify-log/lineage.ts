// Checks the lineage of checkpoints. Within a term the sequence rises, starting from the restored
// checkpoint. A successor gets the last accepted checkpoint, or the previous one if it asked to go
// back. Its predecessor must match the store's record. A killed holder may have saved more than it
// reported. So a checkpoint newer than its last report is not a violation, but an older one is.

import { type Fence, formatFence } from '../../lease/fence.ts';
import type { SavedCheckpoint } from '../../lease/observer.ts';
import type { Place } from '../lease-log/entry.ts';
import type { Facts, LoggedOperation, ReportedGrant, Violation } from './facts.ts';

type Save = LoggedOperation & { readonly saved: SavedCheckpoint; readonly fence: Fence };

export function checkLineage(facts: Facts): readonly Violation[] {
  const saves = facts.operations.filter(isSave).filter((save) => save.outcome === 'ok');
  const byTerm = Map.groupBy(saves, (save) => save.fence);
  return [
    ...[...byTerm].flatMap(([fence, ofTerm]) =>
      risesWithinTerm(ofTerm, facts.reportedOf.get(fence)),
    ),
    ...keyHistories(facts, byTerm).flatMap((history) => handedOver(history, facts)),
    ...facts.reported.flatMap((reported) => predecessorProblems(reported, facts)),
  ];
}

function isSave(operation: LoggedOperation): operation is Save {
  return operation.saved !== undefined && operation.fence !== undefined;
}

function risesWithinTerm(
  saves: readonly Save[],
  grant: ReportedGrant | undefined,
): readonly Violation[] {
  const violations: Violation[] = [];
  const restored = grant?.granted.restored;
  let last = restored && grant && { ...restored, place: grant.place };
  for (const { saved, fence, key, place } of saves) {
    const { seq, digest } = saved;
    const isRepeat = last?.fence === fence && last.seq === seq && last.digest === digest;
    if (last !== undefined && seq <= last.seq && !isRepeat) {
      violations.push({
        rule: 'checkpoint-order',
        what:
          `checkpoint ${seq} was accepted after ${last.seq} ` +
          (last.fence === fence
            ? `in the same term ${formatFence(fence)}`
            : `had been handed over from fence ${formatFence(last.fence)}`),
        place,
        against: last.place,
        fence,
        ...(key === undefined ? {} : { key }),
      });
    }
    last = { seq, digest, fence, place };
  }
  return violations;
}

/** Compares the restored checkpoint with those that earlier terms are known to have saved. */
function handedOver(
  { grant, last, before, isSure }: KeyHistory,
  facts: Facts,
): readonly Violation[] {
  const { granted, fence, key, place } = grant;
  const { restored, wentBack } = granted;
  const isFuture = restored !== undefined && restored.fence >= fence;
  if (!isFuture && last === undefined) return [];
  const is = (kept: Kept | undefined): boolean =>
    kept !== undefined &&
    kept.fence === restored?.fence &&
    kept.seq === restored.seq &&
    kept.digest === restored.digest;
  const isNewer =
    restored !== undefined &&
    last !== undefined &&
    (restored.fence > last.fence || (restored.fence === last.fence && restored.seq > last.seq));
  // The holder asked for the checkpoint before the last (K-5). A term in between without a log may
  // have done so too.
  const mayGoBack = wentBack === true || !isSure;
  const isOlder = mayGoBack && (is(before) || (before === undefined && wentBack === true));
  const isFresh = restored === undefined && mayBeForgotten(grant, last, facts);
  if (!isFuture && (is(last) || isNewer || isOlder || isFresh)) return [];
  const got =
    restored === undefined
      ? 'nothing'
      : `checkpoint ${restored.seq} of fence ${formatFence(restored.fence)}`;
  const although =
    last === undefined
      ? ''
      : `, although checkpoint ${last.seq} of fence ${formatFence(last.fence)} had been accepted` +
        (restored?.seq === last.seq ? ' with other bytes' : '');
  return [
    {
      rule: 'checkpoint-lineage',
      what: `the holder of fence ${formatFence(fence)} was handed ${got}${although}`,
      place,
      ...(last === undefined ? {} : { against: last.place }),
      key,
      fence,
    },
  ];
}

/** The store deletes a retired key after the retention, with its checkpoint (L-6). */
function mayBeForgotten(grant: ReportedGrant, last: Kept | undefined, facts: Facts): boolean {
  if (grant.granted.predecessor.exit !== 'none') return false;
  const before = facts.termOf.get(grant.fence)?.predecessor;
  const ended = before && facts.termOf.get(before.fence)?.ended;
  if (ended !== undefined) return ended.exit === 'retired';
  return facts.operations.some(
    ({ operation, outcome, fence }) =>
      operation === 'release' &&
      outcome === 'ok' &&
      fence !== undefined &&
      fence >= (last?.fence ?? 0) &&
      fence < grant.fence,
  );
}

function predecessorProblems(grant: ReportedGrant, facts: Facts): readonly Violation[] {
  const { granted, fence, key } = grant;
  const term = facts.termOf.get(fence);
  const isUnknown = facts.startsLate || facts.missedUntil.length > 0;
  if (term === undefined || (term.predecessor === undefined && isUnknown)) return [];
  const before = term.predecessor && facts.termOf.get(term.predecessor.fence);
  const predecessor = granted.predecessor;
  const recorded = { fence: before?.granted.fence, exit: before?.ended?.exit ?? 'none' };
  if (predecessor.fence === recorded.fence && predecessor.exit === recorded.exit) return [];
  if (predecessor.exit === 'none' && recorded.exit === 'retired') return [];
  const show = (each: { readonly fence?: Fence | undefined; readonly exit: string }): string =>
    each.fence === undefined ? 'nobody' : `fence ${formatFence(each.fence)} (${each.exit})`;
  return [
    {
      rule: 'predecessor-chain',
      what: `the holder of fence ${formatFence(fence)} learned that ${show(predecessor)} came before it, but the store recorded ${show(recorded)}`,
      place: grant.place,
      ...(before === undefined ? {} : { against: before.granted.place }),
      key,
      fence,
    },
  ];
}

// The checkpoints of each key at each of its grants, from the reports of holders: the last one and
// the previous one, computed term by term as a store does (K-1, K-5).

interface Kept {
  readonly seq: number;
  readonly digest: string;
  readonly fence: Fence;
  readonly place: Place;
}

interface KeyHistory {
  readonly grant: ReportedGrant;
  readonly last: Kept | undefined;
  /** Absent if there was none, or if it is unknown. */
  readonly before: Kept | undefined;
  /** Every term since the last known one has reported its grant and dropped no report. */
  readonly isSure: boolean;
}

function keyHistories(
  facts: Facts,
  savesOf: ReadonlyMap<Fence, readonly Save[]>,
): readonly KeyHistory[] {
  const fencesOf = new Map<string, Set<Fence>>();
  const note = (key: string, fence: Fence): void => {
    fencesOf.set(key, (fencesOf.get(key) ?? new Set()).add(fence));
  };
  for (const { key, fence } of facts.reportedOf.values()) note(key, fence);
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
    const grant = facts.reportedOf.get(fence);
    if (grant !== undefined) {
      const { predecessor, restored, wentBack } = grant.granted;
      const isNext = previous === undefined || predecessor.fence === previous;
      const isSure = isNext && (previous === undefined || facts.reportedOf.has(previous));
      const isComplete = facts.dropped === 0;
      histories.push({ grant, last, before, isSure: isSure && isComplete });
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
