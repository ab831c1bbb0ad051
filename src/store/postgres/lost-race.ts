// A verb has lost a race if its statement refuses but its decision allows the change: another write
// came in between. The verb then tries again. This counter stops it if statement and decision
// disagree for good.

import { assert } from '../../support/assert.ts';

/** Far more than a race can last: each loss means that another write succeeded. */
const LOSSES_MAX = 100;

const losses: WeakMap<object, number> = new WeakMap();

/** Call this before trying again with the same request object. */
export function noteLostRace(verb: string, request: object): void {
  const count = (losses.get(request) ?? 0) + 1;
  losses.set(request, count);
  assert(
    count <= LOSSES_MAX,
    `T-6: ${verb} was turned down ${count} times by its statement and allowed by its decision`,
  );
}
