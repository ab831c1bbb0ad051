// What the store says of leases that a session believes it carries. Needed whenever a notice may have
// been about them: before authority is extended under it, before a grant that was under way meanwhile
// is handed out, and before a term is rejoined (V-1).

import { momentOf } from './authority.ts';
import type { LeaseHandle } from './lease-handle.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isUnanswered } from './store-call.ts';

const PARTS_OF_TTL = 3;

/** What is missing is lost; what drains has a deadline. False when the store did not answer. */
export async function lookUp(core: SessionCore, handles: readonly LeaseHandle[]): Promise<boolean> {
  const { config, id, sessions } = core;
  const sentAt = momentOf(config.clock);
  const carried = await callStore(
    async () => ({ kind: 'carried', leases: await sessions.leases(id) }) as const,
    config.ttlMs / PARTS_OF_TTL,
    config.timers,
  );
  if (isUnanswered(carried)) return false;
  const byKey = new Map(carried.leases.map((lease) => [lease.key, lease]));
  for (const handle of handles) {
    const lease = byKey.get(handle.key);
    if (lease === undefined || lease.fence !== handle.fence) {
      handle.withdraw('lost', 'It was ended by somebody else.');
      continue;
    }
    if (lease.deadlineInMs !== undefined) handle.setDeadline(lease.deadlineInMs, sentAt);
    if (lease.drain !== undefined) handle.noteDrain(lease.drain);
  }
  return true;
}
