// Fences rise. Within a key in every case; over all keys no fence is issued twice, and of two grants
// that were clearly one after the other the later has the greater one. Grants of different keys at the
// same moment may be recorded in either order.

import type { Fence } from '../../lease/fence.ts';
import { formatFence } from '../../lease/fence.ts';
import type { EventOf, Facts } from './facts.ts';
import type { Violation } from './violation.ts';

/** Two grants further apart than this cannot have been under way at the same time. */
const APART_MS = 60_000;

export function checkFenceOrder(facts: Facts): readonly Violation[] {
  const violations: Violation[] = [];
  const issued = new Map<Fence, EventOf<'acquired'>>();
  const newest = new Map<string, EventOf<'acquired'>>();
  for (const event of facts.events) {
    if (event.kind !== 'acquired') continue;
    const twin = issued.get(event.fence);
    const before = newest.get(event.key);
    if (twin !== undefined) violations.push(reissued(event, twin));
    else if (before !== undefined && before.fence > event.fence) {
      violations.push(backwards(event, before));
    }
    issued.set(event.fence, event);
    newest.set(event.key, event);
  }
  return [...violations, ...overall([...issued.values()], violations)];
}

function reissued(event: EventOf<'acquired'>, twin: EventOf<'acquired'>): Violation {
  return {
    rule: 'fence-reissued',
    what: `fence ${formatFence(event.fence)} was granted for "${event.key}" and before that for "${twin.key}"`,
    place: event.place,
    against: twin.place,
    key: event.key,
    fence: event.fence,
  };
}

function backwards(event: EventOf<'acquired'>, before: EventOf<'acquired'>): Violation {
  return {
    rule: 'fence-order',
    what:
      `"${event.key}" was granted with fence ${formatFence(event.fence)}, ` +
      `after it had been granted with ${formatFence(before.fence)}`,
    place: event.place,
    against: before.place,
    key: event.key,
    fence: event.fence,
  };
}

/** By fence, the time of the grants may go back only by as long as a grant can take. */
function overall(
  grants: readonly EventOf<'acquired'>[],
  known: readonly Violation[],
): readonly Violation[] {
  const violations: Violation[] = [];
  let latest: EventOf<'acquired'> | undefined;
  for (const grant of [...grants].sort((a, b) => a.fence - b.fence)) {
    const goesBack = latest !== undefined && grant.at + APART_MS < latest.at;
    const isKnown = known.some(
      ({ place, against }) => place === latest?.place && against === grant.place,
    );
    if (latest !== undefined && goesBack && !isKnown && grant.key !== latest.key) {
      violations.push(backwards(latest, grant));
    }
    if (latest === undefined || grant.at > latest.at) latest = grant;
  }
  return violations;
}
