// Exclusive tenure and exactly one end for each term, from the store's own record.

import type { Fence } from '../../lease/fence.ts';
import { formatFence } from '../../lease/fence.ts';
import type { EventOf, Facts } from './facts.ts';
import type { Violation } from './violation.ts';

export function checkTenure(facts: Facts): readonly Violation[] {
  const violations: Violation[] = [];
  const open = new Map<string, EventOf<'acquired'>>();
  const granted = new Set<Fence>();
  const ended = new Map<Fence, EventOf<'ended'>>();
  for (const event of facts.events) {
    if (event.kind === 'acquired') {
      const before = open.get(event.key);
      if (before !== undefined) violations.push(overlap(event, before));
      open.set(event.key, event);
      granted.add(event.fence);
    }
    if (event.kind === 'ended') {
      violations.push(...endProblems(event, { granted, ended, startsLate: facts.startsLate }));
      ended.set(event.fence, ended.get(event.fence) ?? event);
      if (open.get(event.key)?.fence === event.fence) open.delete(event.key);
    }
  }
  return [...violations, ...sessionEnds(facts)];
}

function overlap(event: EventOf<'acquired'>, before: EventOf<'acquired'>): Violation {
  return {
    rule: 'overlapping-tenure',
    what:
      `"${event.key}" was granted to ${event.owner} (fence ${formatFence(event.fence)}) while the term ` +
      `of ${before.owner} (fence ${formatFence(before.fence)}) had no recorded end`,
    place: event.place,
    against: before.place,
    key: event.key,
    fence: event.fence,
  };
}

function endProblems(
  event: EventOf<'ended'>,
  seen: {
    readonly granted: ReadonlySet<Fence>;
    readonly ended: ReadonlyMap<Fence, EventOf<'ended'>>;
    readonly startsLate: boolean;
  },
): readonly Violation[] {
  const { key, fence, place } = event;
  const first = seen.ended.get(fence);
  if (first !== undefined) {
    const what = `the term ${formatFence(fence)} of "${key}" ended a second time, as ${event.exit}; the first was ${first.exit}`;
    return [{ rule: 'ended-twice', what, place, against: first.place, key, fence }];
  }
  if (!seen.granted.has(fence) && !seen.startsLate) {
    const what = `the term ${formatFence(fence)} of "${key}" ended, but nobody was granted it`;
    return [{ rule: 'end-without-grant', what, place, key, fence }];
  }
  return [];
}

function sessionEnds(facts: Facts): readonly Violation[] {
  const violations: Violation[] = [];
  const ended = new Map<string, EventOf<'session-ended'>>();
  for (const event of facts.events) {
    if (event.kind !== 'session-ended') continue;
    const { session, place } = event;
    const first = ended.get(session);
    if (first !== undefined) {
      const what = `the session ${session} of ${event.owner} ended a second time`;
      violations.push({ rule: 'ended-twice', what, place, against: first.place, session });
    }
    ended.set(session, first ?? event);
  }
  return violations;
}
