// Checks exclusive tenure, one end per term and one life per session, from the store's own record.
// Terms that were open before a gap may have ended in it, so they are dropped.

import { type Fence, formatFence } from '../../lease/fence.ts';
import {
  type EventOf,
  type Facts,
  missesBefore,
  type ReportedGrant,
  type Violation,
} from './facts.ts';

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
    /** The term may have been granted before the record starts. */
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
    const what = `the term ${formatFence(fence)} of "${key}" ended, but no holder was granted it`;
    return [{ rule: 'end-without-grant', what, place, key, fence }];
  }
  return [];
}

/** A session opens once and ends once, and gets no grant after that (S-4). */
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

// Checks that fences rise: always within a key. Over all keys, no fence is issued twice, and of two
// grants that are clearly one after the other, the later has the greater fence. Concurrent grants
// of different keys may be recorded in either order. The check also compares the store's record
// with the reports of holders, because a store that lost a grant has no event for it.

/** Two grants further apart than this cannot have been concurrent. */
const APART_MS = 60_000;

type Granted = EventOf<'acquired'> | ReportedGrant;

export function checkFenceOrder(facts: Facts, skewMs: number): readonly Violation[] {
  const violations: Violation[] = [];
  const issued = new Map<Fence, Granted>();
  const newest = new Map<string, EventOf<'acquired'>>();
  for (const event of facts.events) {
    if (event.kind !== 'acquired') continue;
    const other = issued.get(event.fence);
    const before = newest.get(event.key);
    if (other !== undefined) violations.push(reissued(event, other));
    else if (before !== undefined && before.fence > event.fence) {
      violations.push(backwards(event, before));
    }
    if (other === undefined) issued.set(event.fence, event);
    newest.set(event.key, event);
  }
  for (const reported of facts.reported) {
    violations.push(...grantProblems(reported, { facts, issued, skewMs }));
    if (!issued.has(reported.fence)) issued.set(reported.fence, reported);
  }
  return [...violations, ...overall([...issued.values()], violations, skewMs)];
}

function grantProblems(
  reported: ReportedGrant,
  seen: {
    readonly facts: Facts;
    readonly issued: ReadonlyMap<Fence, Granted>;
    readonly skewMs: number;
  },
): readonly Violation[] {
  const { key, fence, place } = reported;
  const known = seen.issued.get(fence);
  // A holder may report the same grant twice, because it repeats an attempt until it gets a reply
  // (A-3).
  if (known !== undefined && (known.key !== key || known.session !== reported.session)) {
    return [reissued(reported, known)];
  }
  const before = reported.granted.predecessor.fence;
  if (before !== undefined && before >= fence) {
    const what = `"${key}" was granted with fence ${formatFence(fence)} after ${formatFence(before)}, according to its holder`;
    return [{ rule: 'fence-order', what, place, key, fence }];
  }
  if (known !== undefined || reported.at + seen.skewMs >= seen.facts.completeUntil) return [];
  const what = `the session ${reported.session} was granted "${key}" with fence ${formatFence(fence)}, which the store has not recorded`;
  return [{ rule: 'grant-not-recorded', what, place, key, fence }];
}

function reissued(grant: Granted, other: Granted): Violation {
  const to = ({ key, session }: Granted): string => `for "${key}" to the session ${session}`;
  return {
    rule: 'fence-reissued',
    what: `fence ${formatFence(grant.fence)} was granted ${to(grant)}, and also ${to(other)}`,
    place: grant.place,
    against: other.place,
    key: grant.key,
    fence: grant.fence,
  };
}

function backwards(grant: Granted, before: Granted): Violation {
  return {
    rule: 'fence-order',
    what:
      `"${grant.key}" was granted with fence ${formatFence(grant.fence)}, ` +
      `after ${before.key === grant.key ? 'it' : `"${before.key}"`} had been granted with ${formatFence(before.fence)}`,
    place: grant.place,
    against: before.place,
    key: grant.key,
    fence: grant.fence,
  };
}

function isEvent(grant: Granted): boolean {
  return grant.kind === 'acquired';
}

/** In the order of fences, grant times may go back only by the duration of a grant. */
function overall(
  grants: readonly Granted[],
  known: readonly Violation[],
  skewMs: number,
): readonly Violation[] {
  const violations: Violation[] = [];
  let latest: Granted | undefined;
  for (const grant of [...grants].sort((a, b) => a.fence - b.fence)) {
    const bothRecorded = latest !== undefined && isEvent(latest) && isEvent(grant);
    const apartMs = bothRecorded ? APART_MS : APART_MS + skewMs;
    const goesBack = latest !== undefined && grant.at + apartMs < latest.at;
    const isKnown = known.some(
      ({ place, against }) => place === latest?.place && against === grant.place,
    );
    // For one key, another check already covers the store's own order.
    const isSeen = bothRecorded && grant.key === latest?.key;
    if (latest !== undefined && goesBack && !isKnown && !isSeen) {
      violations.push(backwards(grant, latest));
    }
    if (latest === undefined || grant.at > latest.at) latest = grant;
  }
  return violations;
}
