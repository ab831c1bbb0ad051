// Compares the leases that a session believes it carries with the store. This is needed whenever a
// notice may concern them: before authority is extended, before a concurrent grant is returned, and
// before a term is rejoined (V-1).

import { momentOf } from './authority.ts';
import type { LeaseHandle } from './lease-handle.ts';
import type { EndedBy } from './not-held.ts';
import type { SessionCore } from './session-core.ts';
import { callStore, isStoreOutage } from './store-call.ts';

const PARTS_OF_TTL = 3;
const PARTS_OF_TTL_WHY = 20;
/** If a whole prefix was revoked at once, the client does not query every key. */
const EXPLAINED_MAX = 16;
const UNEXPLAINED = 'Another session or an operator ended it.';

/**
 * Withdraws missing leases, sets the deadlines of draining ones, and gives back terms that no
 * caller has. Returns false if the store did not reply.
 */
export async function lookUp(core: SessionCore, handles: readonly LeaseHandle[]): Promise<boolean> {
  const { config, id, sessions } = core;
  const sentAt = momentOf(config.clock);
  const carried = await callStore(
    async () => ({ kind: 'carried', leases: await sessions.leases(id) }) as const,
    config.ttlMs / PARTS_OF_TTL,
    config.timers,
  );
  if (isStoreOutage(carried)) return false;
  const byKey = new Map(carried.leases.map((lease) => [lease.key, lease]));
  const missing: LeaseHandle[] = [];
  for (const handle of handles) {
    const lease = byKey.get(handle.key);
    if (lease === undefined || lease.fence !== handle.fence) {
      missing.push(handle);
      continue;
    }
    if (lease.deadlineInMs !== undefined) handle.setDeadline(lease.deadlineInMs, sentAt);
    if (lease.drain !== undefined) handle.noteDrain(lease.drain);
  }
  for (const handle of missing.splice(EXPLAINED_MAX)) handle.withdraw('lost', UNEXPLAINED);
  await Promise.all(
    missing.map(async (handle) => {
      handle.withdraw('lost', (await howEnded(core, handle)) ?? UNEXPLAINED);
    }),
  );
  return core.disowned.disownUnknown(core, carried.leases);
}

/**
 * Returns who ended the term, and why (O-5). It asks once and briefly, because stopping matters
 * more than the reason.
 */
async function howEnded(
  core: SessionCore,
  { key, fence }: LeaseHandle,
): Promise<EndedBy | undefined> {
  const { ttlMs, timers } = core.config;
  const inspected = await callStore(
    async () => ({ kind: 'inspected', inspection: await core.leases.inspect(key) }) as const,
    ttlMs / PARTS_OF_TTL_WHY,
    timers,
  ).catch(() => undefined);
  if (inspected === undefined || isStoreOutage(inspected)) return undefined;
  const { record } = inspected.inspection;
  const end = record?.fence === fence ? record.end : record?.predecessor;
  const isOfTerm = record?.fence === fence || record?.predecessor.fence === fence;
  if (end === undefined || !isOfTerm) return undefined;
  const { exit, cause, actor } = end;
  return {
    exit,
    ...(cause === undefined ? {} : { cause }),
    ...(actor === undefined ? {} : { actor }),
  };
}
