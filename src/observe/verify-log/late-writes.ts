// What holders report, against what the store recorded: a write that was sent after a successor had
// been let in must not have been accepted, a session must not be renewed after its end, and no holder
// may have believed in its authority when somebody else was let in. Holders and store have different
// clocks; only what is out by more than `skewMs` counts.

import { formatFence } from '../../lease/fence.ts';
import type { LeaseOperation } from '../../lease/observer.ts';
import type { EventOf, Facts, Operation, Term } from './facts.ts';
import type { Violation } from './violation.ts';

const WRITES: ReadonlySet<LeaseOperation> = new Set([
  'checkpoint',
  'begin-intent',
  'settle-intent',
  'release',
]);

export function checkLateWrites(facts: Facts, skewMs: number): readonly Violation[] {
  const sessionEnds = new Map<string, EventOf<'session-ended'>>();
  for (const event of facts.events) {
    if (event.kind === 'session-ended') sessionEnds.set(event.session, event);
  }
  return [
    ...facts.operations.flatMap((operation) => staleWrite(operation, facts, skewMs)),
    ...facts.operations.flatMap((operation) => {
      const end = sessionEnds.get(operation.session);
      return end === undefined ? [] : renewedAfter(operation, end, skewMs);
    }),
    ...authorityOverlaps(facts, skewMs),
  ];
}

function sentAt(operation: Operation): number {
  return operation.at - operation.latencyMs;
}

function staleWrite(operation: Operation, facts: Facts, skewMs: number): readonly Violation[] {
  const { fence, key } = operation;
  if (fence === undefined || key === undefined) return [];
  if (!WRITES.has(operation.operation) || operation.outcome !== 'ok') return [];
  const successor = facts.termOf.get(fence)?.successor;
  if (successor === undefined) return [];
  const lateMs = sentAt(operation) - successor.at;
  if (lateMs <= skewMs) return [];
  return [
    {
      rule: 'stale-write-accepted',
      what:
        `a ${operation.operation} under fence ${formatFence(fence)} was accepted; it was sent ` +
        `${Math.round(lateMs)} ms after "${key}" had gone to ${successor.owner} with fence ${formatFence(successor.fence)}`,
      place: operation.place,
      against: successor.place,
      key,
      fence,
    },
  ];
}

function renewedAfter(
  operation: Operation,
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

/** Of terms that ended without their holder's doing: forced ends are not waited for, expiry is. */
function authorityOverlaps(facts: Facts, skewMs: number): readonly Violation[] {
  const bySession = new Map<string, Operation[]>();
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
  { granted, successor }: Term,
  operations: readonly Operation[],
  skewMs: number,
): readonly Violation[] {
  if (successor === undefined) return [];
  const believed = operations.filter(
    (operation) =>
      operation.remainingAtReplyMs > 0 &&
      operation.at + operation.remainingAtReplyMs > successor.at + skewMs,
  );
  const first = believed[0];
  if (first === undefined) return [];
  const { key, fence } = granted;
  const overMs = first.at + first.remainingAtReplyMs - successor.at;
  return [
    {
      rule: 'authority-overlap',
      what:
        `${granted.owner} believed to hold "${key}" (fence ${formatFence(fence)}) until ` +
        `${Math.round(overMs)} ms after it had gone to ${successor.owner}`,
      place: first.place,
      against: successor.place,
      key,
      fence,
    },
  ];
}
