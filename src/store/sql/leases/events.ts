// Writes events in the transaction that makes them true (O-1), and raises the alarm that halts
// grants.

import type { NewLeaseEvent } from '../../../lease/event.ts';
import { type Fence, isIssuable } from '../../../lease/fence.ts';
import type { Instant } from '../../../support/clock.ts';
import { fromEvent } from '../../lease-rows.ts';
import { all, one, type Script, sql } from '../script.ts';
import { both } from './views.ts';

const EVENT = {
  ...{ at: 'bigint', kind: 'text', key: 'text', fence: 'bigint', rev: 'bigint' },
  ...{ session_id: 'uuid', owner: 'text', detail: 'jsonb' },
};

const COLUMNS = Object.keys(EVENT).join(', ');

const APPEND_EVENTS = both(
  (d) => `
  insert into hf.event (${COLUMNS})
  select ${COLUMNS}
    from ${d.records(':events', EVENT)} as e`,
);

export function* appendLeaseEvents(events: readonly NewLeaseEvent[]): Script<void> {
  if (events.length > 0)
    yield* all(APPEND_EVENTS, { events: JSON.stringify(events.map(fromEvent)) });
}

// The store records the alarm once. The halt keeps the highest fence shown, because the epoch must
// rise above it (T-4).
const HALT = both(
  (d) => `
  update hf.meta
     set halted = :fence
   where id = 1
     and halted is null -- guard: halted
     and :fence::bigint > ${d.lastIssued} -- guard: ahead
  returning hf_now() as now`,
);

const HALT_HIGHER = sql(`
  update hf.meta
     set halted = case when halted < :fence::bigint then :fence else halted end
   where id = 1`);

/**
 * A caller showed a fence that this store never issued. Halt grants until an operator acts (T-4).
 */
export function* halt(fence: Fence): Script<void> {
  if (!isIssuable(fence)) return;
  const first = yield* one<{ now: Instant }>(HALT, { fence });
  if (first === undefined) yield* all(HALT_HIGHER, { fence });
  else {
    const cause = `fence ${fence}`;
    yield* appendLeaseEvents([{ kind: 'alarm', at: first.now, alarm: 'fence-ahead', cause }]);
  }
}
