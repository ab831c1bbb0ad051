// Delivers a message to an execution and decides whether it wakes. Pure.

import type { Instant } from '../../support/clock.ts';
import type { ExecutionRecord } from '../execution.ts';
import type { InboxMessage } from '../history.ts';
import { queuedAt } from './record.ts';

export type NewMessage = Pick<InboxMessage, 'kind' | 'name' | 'body' | 'key'>;

export interface Delivery {
  readonly execution: ExecutionRecord;
  readonly message: InboxMessage;
}

/** Delivers to an open execution. */
export function deliver(
  execution: ExecutionRecord,
  { kind, name, body, key }: NewMessage,
  now: Instant,
): Delivery {
  const n = execution.inboxCount + 1;
  const message: InboxMessage = {
    n,
    kind,
    at: now,
    ...(name === undefined ? {} : { name }),
    ...(body === undefined ? {} : { body }),
    ...(key === undefined ? {} : { key }),
  };
  return { execution: afterArrival({ ...execution, inboxCount: n }, kind, now), message };
}

function afterArrival(
  execution: ExecutionRecord,
  kind: InboxMessage['kind'],
  now: Instant,
): ExecutionRecord {
  if (execution.status !== 'waiting') return execution;
  if (kind !== 'child-ended') return wake(execution, now);
  const wakeAfter = Math.max(0, execution.wakeAfter - 1);
  const counted = { ...execution, wakeAfter };
  return wakeAfter === 0 ? wake(counted, now) : counted;
}

/**
 * Leaves a timer that is already due alone, because it shows how long the execution has been ready.
 */
function wake(execution: ExecutionRecord, now: Instant): ExecutionRecord {
  const { readyAt } = execution;
  return queuedAt(execution, readyAt === undefined || readyAt > now ? now : readyAt);
}
