// A verb whose statement said no and whose decision says yes has lost a race: the row moved in between,
// and it asks again. If the two ever disagreed for good it would ask for ever; this ends that.

import { assert } from '../../support/assert.ts';

/** Far more than any race lasts, since each loss means that somebody else's write went through. */
const LOSSES_MAX = 100;

const losses: WeakMap<object, number> = new WeakMap();

/** Before asking again with the same request. */
export function noteLostRace(verb: string, request: object): void {
  const count = (losses.get(request) ?? 0) + 1;
  losses.set(request, count);
  assert(
    count <= LOSSES_MAX,
    `T-6: ${verb} was turned down ${count} times by its statement and allowed by its decision`,
  );
}
