// Compares the reports of holders with the store's record. The store must not accept a write that
// was sent after its term had ended, or with the fence of another holder. A session must not be
// renewed after its end. No holder may believe in its authority when another one was granted the
// key. Holders and store have different clocks, so only differences above `skewMs` count.

import { DECLARED_EXITS, type Exit } from '../../lease/exit.ts';
import { type Fence, formatFence } from '../../lease/fence.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeaseOperation } from '../../lease/observer.ts';
import { wordsIn } from '../../support/options.ts';
import type { EventOf, Facts, LoggedOperation, RecordedTerm, Violation } from './facts.ts';

const WRITES: ReadonlySet<LeaseOperation> = new Set(
  wordsIn('checkpoint begin-intent settle-intent release'),
);

export function checkLateWrites(facts: Facts, skewMs: number): readonly Violation[] {
  const sessionEnds = new Map<string, EventOf<'session-ended'>>();
  for (const event of facts.events) {
    if (event.kind === 'session-ended') sessionEnds.set(event.session, event);
  }
  return [
    ...facts.operations
      .filter(isAcceptedWrite)
      .flatMap((write) => [
        ...staleWrite(write, facts, skewMs),
        ...foreignWrite(write, facts, skewMs),
      ]),
    ...facts.operations.flatMap((operation) => {
      const end = sessionEnds.get(operation.session);
      return end === undefined ? [] : renewedAfter(operation, end, skewMs);
    }),
    ...authorityOverlaps(facts, skewMs),
  ];
}

function sentAt(operation: LoggedOperation): number {
  return operation.at - operation.latencyMs;
}

type Write = LoggedOperation & { readonly fence: Fence; readonly key: LeaseKey };

function isAcceptedWrite(operation: LoggedOperation): operation is Write {
  const { fence, key, outcome } = operation;
  const isWrite = WRITES.has(operation.operation) && outcome === 'ok';
  return isWrite && fence !== undefined && key !== undefined;
}

function staleWrite(write: Write, facts: Facts, skewMs: number): readonly Violation[] {
  const { fence, key } = write;
  const term = facts.termOf.get(fence);
  const [over] = [endFor(write, term), term?.successor]
    .filter((event) => event !== undefined)
    .sort((a, b) => a.at - b.at);
  if (over === undefined) return [];
  const lateMs = sentAt(write) - over.at;
  if (lateMs <= skewMs) return [];
  const how =
    over.kind === 'ended'
      ? `its term had ended as ${over.exit}`
      : `"${key}" had gone to ${over.owner} with fence ${formatFence(over.fence)}`;
  return [
    {
      rule: 'stale-write-accepted',
      what: `a ${write.operation} under fence ${formatFence(fence)} was accepted; it was sent ${Math.round(lateMs)} ms after ${how}`,
      place: write.place,
      against: over.place,
      key,
      fence,
    },
  ];
}

/** The end of the term, unless this write declared it and may repeat it (L-2). */
function endFor(write: Write, term: RecordedTerm | undefined): EventOf<'ended'> | undefined {
  const ended = term?.ended;
  const isOwn =
    write.operation === 'release' &&
    ended !== undefined &&
    (DECLARED_EXITS as readonly Exit[]).includes(ended.exit);
  return isOwn ? undefined : ended;
}

/**
 * Finds the owner of a fence in the store's record or, without one, in the reports of holders
 * (T-6).
 */
function foreignWrite(write: Write, facts: Facts, skewMs: number): readonly Violation[] {
  const { fence, key, session, place } = write;
  const granted = facts.termOf.get(fence)?.granted ?? facts.reportedOf.get(fence);
  const isOurs = granted?.key === key && granted.session === session;
  if (isOurs || (granted === undefined && write.at + skewMs >= facts.completeUntil)) return [];
  const whose =
    granted === undefined
      ? 'no holder was granted it'
      : `it was granted for "${granted.key}" to the session ${granted.session}`;
  return [
    {
      rule: 'foreign-write-accepted',
      what: `a ${write.operation} of "${key}" by the session ${session} was accepted under fence ${formatFence(fence)}, but ${whose}`,
      place,
      ...(granted === undefined ? {} : { against: granted.place }),
      key,
      fence,
      session,
    },
  ];
}

function renewedAfter(
  operation: LoggedOperation,
  end: EventOf<'session-ended'>,
  skewMs: number,
): readonly Violation[] {
  const isRenewal = operation.operation === 'heartbeat' && operation.outcome === 'ok';
  const lateMs = sentAt(operation) - end.at;
  if (!isRenewal || lateMs <= skewMs) return [];
  return [
    {
      rule: 'renewed-after-end',
      what: `the session ${end.session} of ${end.owner} was renewed ${Math.round(lateMs)} ms after it had ended as ${end.exit}`,
      place: operation.place,
      against: end.place,
      session: end.session,
    },
  ];
}

/** Checks terms that expired. A forced end does not wait for the holder, but an expiry does. */
function authorityOverlaps(facts: Facts, skewMs: number): readonly Violation[] {
  const bySession = new Map<string, LoggedOperation[]>();
  for (const operation of facts.operations) {
    const ofSession = bySession.get(operation.session) ?? [];
    ofSession.push(operation);
    bySession.set(operation.session, ofSession);
  }
  const expired = [...facts.termOf.values()].filter(({ ended }) => ended?.exit === 'expired');
  return expired.flatMap((term) => {
    const operations = bySession.get(term.granted.session) ?? [];
    return authorityOverlap(term, operations, skewMs);
  });
}

function authorityOverlap(
  { granted, successor }: RecordedTerm,
  operations: readonly LoggedOperation[],
  skewMs: number,
): readonly Violation[] {
  if (successor === undefined) return [];
  const accepted = operations.filter(
    (operation) =>
      operation.remainingAtReplyMs > 0 &&
      operation.at + operation.remainingAtReplyMs > successor.at + skewMs,
  );
  const first = accepted[0];
  if (first === undefined) return [];
  const { key, fence } = granted;
  const overMs = first.at + first.remainingAtReplyMs - successor.at;
  return [
    {
      rule: 'authority-overlap',
      what:
        `${granted.owner} held, by its own clocks, "${key}" (fence ${formatFence(fence)}) until ` +
        `${Math.round(overMs)} ms after it had gone to ${successor.owner}`,
      place: first.place,
      against: successor.place,
      key,
      fence,
    },
  ];
}
