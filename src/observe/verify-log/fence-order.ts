// Fences rise. Within a key in every case; over all keys no fence is issued twice, and of two grants
// that were clearly one after the other the later has the greater one. Grants of different keys at the
// same moment may be recorded in either order. What the store recorded is held against what holders were
// told: a store that has lost a grant has no event of it.

import type { Fence } from '../../lease/fence.ts';
import { formatFence } from '../../lease/fence.ts';
import type { EventOf, Facts, ToldGrant } from './facts.ts';
import type { Violation } from './violation.ts';

/** Two grants further apart than this cannot have been under way at the same time. */
const APART_MS = 60_000;

type Granted = EventOf<'acquired'> | ToldGrant;

export function checkFenceOrder(facts: Facts, skewMs: number): readonly Violation[] {
  const violations: Violation[] = [];
  const issued = new Map<Fence, Granted>();
  const newest = new Map<string, EventOf<'acquired'>>();
  for (const event of facts.events) {
    if (event.kind !== 'acquired') continue;
    const twin = issued.get(event.fence);
    const before = newest.get(event.key);
    if (twin !== undefined) violations.push(reissued(event, twin));
    else if (before !== undefined && before.fence > event.fence) {
      violations.push(backwards(event, before));
    }
    if (twin === undefined) issued.set(event.fence, event);
    newest.set(event.key, event);
  }
  for (const told of facts.told) {
    violations.push(...toldProblems(told, { facts, issued, skewMs }));
    if (!issued.has(told.fence)) issued.set(told.fence, told);
  }
  return [...violations, ...overall([...issued.values()], violations, skewMs)];
}

function toldProblems(
  told: ToldGrant,
  seen: {
    readonly facts: Facts;
    readonly issued: ReadonlyMap<Fence, Granted>;
    readonly skewMs: number;
  },
): readonly Violation[] {
  const { key, fence, place } = told;
  const known = seen.issued.get(fence);
  // The same grant may be told twice: an attempt is repeated until it is answered (A-3).
  if (known !== undefined && (known.key !== key || known.session !== told.session)) {
    return [reissued(told, known)];
  }
  const before = told.granted.predecessor.fence;
  if (before !== undefined && before >= fence) {
    const what = `"${key}" was granted with fence ${formatFence(fence)} after ${formatFence(before)}, as its holder was told`;
    return [{ rule: 'fence-order', what, place, key, fence }];
  }
  if (known !== undefined || told.at + seen.skewMs >= seen.facts.completeUntil) return [];
  const what = `the session ${told.session} was granted "${key}" with fence ${formatFence(fence)}, which the store has not recorded`;
  return [{ rule: 'grant-not-recorded', what, place, key, fence }];
}

function reissued(grant: Granted, twin: Granted): Violation {
  const to = ({ key, session }: Granted): string => `for "${key}" to the session ${session}`;
  return {
    rule: 'fence-reissued',
    what: `fence ${formatFence(grant.fence)} was granted ${to(grant)}, and also ${to(twin)}`,
    place: grant.place,
    against: twin.place,
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

/** By fence, the time of the grants may go back only by as long as a grant can take. */
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
    // Of one key, the store's own order has been looked at already.
    const isSeen = bothRecorded && grant.key === latest?.key;
    if (latest !== undefined && goesBack && !isKnown && !isSeen) {
      violations.push(backwards(grant, latest));
    }
    if (latest === undefined || grant.at > latest.at) latest = grant;
  }
  return violations;
}
