// Exclusive tenure, and exactly one end for each term and one life for each session, from the store's own
// record. Where events were missed, what was open before that may have ended and is forgotten.

import type { Fence } from '../../lease/fence.ts';
import { formatFence } from '../../lease/fence.ts';
import { type EventOf, type Facts, missesBefore } from './facts.ts';
import type { Violation } from './violation.ts';

export function checkTenure(facts: Facts): readonly Violation[] {
  const violations: Violation[] = [];
  let open = new Map<string, EventOf<'acquired'>>();
  let misses = 0;
  const granted = new Set<Fence>();
  const ended = new Map<Fence, EventOf<'ended'>>();
  for (const event of facts.events) {
    const missed = missesBefore(facts, event.seq);
    if (missed > misses) open = new Map();
    misses = missed;
    if (event.kind === 'acquired') {
      const before = open.get(event.key);
      if (before !== undefined) violations.push(overlap(event, before));
      open.set(event.key, event);
      granted.add(event.fence);
    }
    if (event.kind === 'ended') {
      const mayBeOlder = facts.startsLate || misses > 0;
      violations.push(...endProblems(event, { granted, ended, mayBeOlder }));
      ended.set(event.fence, ended.get(event.fence) ?? event);
      if (open.get(event.key)?.fence === event.fence) open.delete(event.key);
    }
  }
  return [...violations, ...sessionLives(facts)];
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
    /** It may have been granted before what is recorded. */
    readonly mayBeOlder: boolean;
  },
): readonly Violation[] {
  const { key, fence, place } = event;
  const first = seen.ended.get(fence);
  if (first !== undefined) {
    const what = `the term ${formatFence(fence)} of "${key}" ended a second time, as ${event.exit}; the first was ${first.exit}`;
    return [{ rule: 'ended-twice', what, place, against: first.place, key, fence }];
  }
  if (!seen.granted.has(fence) && !seen.mayBeOlder) {
    const what = `the term ${formatFence(fence)} of "${key}" ended, but nobody was granted it`;
    return [{ rule: 'end-without-grant', what, place, key, fence }];
  }
  return [];
}

/** S-4: a session is opened once and ends once, and is granted nothing after that. */
function sessionLives(facts: Facts): readonly Violation[] {
  const violations: Violation[] = [];
  const opened = new Map<string, EventOf<'session-opened' | 'session-rejoined'>>();
  const ended = new Map<string, EventOf<'session-ended'>>();
  for (const event of facts.events) {
    if (event.kind === 'session-ended') {
      const first = ended.get(event.session);
      if (first !== undefined) violations.push(again('ended-twice', event, first));
      ended.set(event.session, first ?? event);
    }
    if (event.kind === 'session-opened') {
      const first = opened.get(event.session);
      if (first !== undefined) violations.push(again('opened-twice', event, first));
      opened.set(event.session, first ?? event);
    }
    const end = event.kind === 'acquired' ? ended.get(event.session) : undefined;
    if (event.kind === 'acquired' && end !== undefined && event.at > end.at) {
      violations.push(grantedAfter(event, end));
    }
  }
  return violations;
}

function again(
  rule: 'ended-twice' | 'opened-twice',
  event: EventOf<'session-opened' | 'session-rejoined' | 'session-ended'>,
  first: { readonly place: Violation['place'] },
): Violation {
  const { session, place } = event;
  const did = rule === 'ended-twice' ? 'ended' : 'was opened';
  const what = `the session ${session} of ${event.owner} ${did} a second time`;
  return { rule, what, place, against: first.place, session };
}

function grantedAfter(event: EventOf<'acquired'>, end: EventOf<'session-ended'>): Violation {
  const { key, fence, session, place } = event;
  const what =
    `"${key}" was granted with fence ${formatFence(fence)} to the session ${session} of ${event.owner}, ` +
    `${event.at - end.at} ms after that session had ended as ${end.exit}`;
  return { rule: 'granted-after-end', what, place, against: end.place, key, fence, session };
}
