// Checkpoint lineage: within a term the sequence rises; a successor is handed the last that was
// accepted, or the one before it when it asked to go back; and what it is told of its predecessor is
// what the store recorded. A killed holder may have saved more than it could still report, so finding
// something newer than its last report is no violation; finding something older is.

import type { Fence } from '../../lease/fence.ts';
import { formatFence } from '../../lease/fence.ts';
import type { SavedCheckpoint } from '../../lease/observer.ts';
import type { Facts, Operation } from './facts.ts';
import type { Violation } from './violation.ts';

type Save = Operation & { readonly saved: SavedCheckpoint; readonly fence: Fence };

export function checkLineage(facts: Facts): readonly Violation[] {
  const saves = acceptedSaves(facts);
  const byKey = Map.groupBy(
    [...saves].sort((a, b) => a.fence - b.fence),
    (save) => save.key ?? '',
  );
  return [
    ...[...Map.groupBy(saves, (save) => save.fence).values()].flatMap(risesWithinTerm),
    ...facts.operations.flatMap((operation) => [
      ...handedOver(operation, byKey.get(operation.key ?? '') ?? []),
      ...predecessorTold(operation, facts),
    ]),
  ];
}

/** Accepted checkpoints in the order their holders had them answered. */
function acceptedSaves(facts: Facts): readonly Save[] {
  return facts.operations.filter(isSave).filter((save) => save.outcome === 'ok');
}

function isSave(operation: Operation): operation is Save {
  return operation.saved !== undefined && operation.fence !== undefined;
}

function risesWithinTerm(saves: readonly Save[]): readonly Violation[] {
  const violations: Violation[] = [];
  let last: Save | undefined;
  for (const save of saves) {
    const { seq, digest } = save.saved;
    const isRepeat = last?.saved.seq === seq && last.saved.digest === digest;
    if (last !== undefined && seq <= last.saved.seq && !isRepeat) {
      violations.push({
        rule: 'checkpoint-order',
        what: `checkpoint ${seq} was accepted after ${last.saved.seq} in the same term ${formatFence(save.fence)}`,
        place: save.place,
        against: last.place,
        fence: save.fence,
        ...(save.key === undefined ? {} : { key: save.key }),
      });
    }
    last = save;
  }
  return violations;
}

/** What a grant restored, against what the terms before it are known to have saved. */
function handedOver(operation: Operation, saves: readonly Save[]): readonly Violation[] {
  const { granted, fence, key } = operation;
  if (granted === undefined || fence === undefined || key === undefined) return [];
  const count = countBelow(saves, fence);
  const last = saves[count - 1];
  if (last === undefined) return [];
  const { restored } = granted;
  const is = (save: Save | undefined): boolean =>
    save !== undefined &&
    save.fence === restored?.fence &&
    save.saved.seq === restored.seq &&
    save.saved.digest === restored.digest;
  // K-5: a successor may ask for the one before the last.
  if (is(last) || is(saves[count - 2])) return [];
  const newer =
    restored !== undefined &&
    (restored.fence > last.fence ||
      (restored.fence === last.fence && restored.seq > last.saved.seq));
  if (newer) return [];
  const got =
    restored === undefined
      ? 'nothing'
      : `checkpoint ${restored.seq} of fence ${formatFence(restored.fence)}`;
  return [
    {
      rule: 'checkpoint-lineage',
      what:
        `the holder of fence ${formatFence(fence)} was handed ${got}, although checkpoint ` +
        `${last.saved.seq} of fence ${formatFence(last.fence)} had been accepted` +
        (restored?.seq === last.saved.seq ? ' with other bytes' : ''),
      place: operation.place,
      against: last.place,
      key,
      fence,
    },
  ];
}

/** How many of them, which are in the order of their fences, have a lower one. */
function countBelow(saves: readonly Save[], fence: Fence): number {
  let low = 0;
  let high = saves.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((saves[middle]?.fence ?? 0) < fence) low = middle + 1;
    else high = middle;
  }
  return low;
}

function predecessorTold(operation: Operation, facts: Facts): readonly Violation[] {
  const { granted, fence, key } = operation;
  if (granted === undefined || fence === undefined || key === undefined) return [];
  const term = facts.termOf.get(fence);
  if (term === undefined || (term.predecessor === undefined && facts.startsLate)) return [];
  const before = term.predecessor && facts.termOf.get(term.predecessor.fence);
  const told = granted.predecessor;
  const recorded = { fence: before?.granted.fence, exit: before?.ended?.exit ?? 'none' };
  if (told.fence === recorded.fence && told.exit === recorded.exit) return [];
  const show = (each: { readonly fence?: Fence | undefined; readonly exit: string }): string =>
    each.fence === undefined ? 'nobody' : `fence ${formatFence(each.fence)} (${each.exit})`;
  return [
    {
      rule: 'predecessor-chain',
      what: `the holder of fence ${formatFence(fence)} was told that ${show(told)} came before it; the store recorded ${show(recorded)}`,
      place: operation.place,
      ...(before === undefined ? {} : { against: before.granted.place }),
      key,
      fence,
    },
  ];
}
