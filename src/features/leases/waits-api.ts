// Finds out who holds the lease that an execution waits for, and whether the holders wait for each
// other.

import type { EngineConfig } from '../../engine/config.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { LeaseWait } from '../../execution/explain.ts';
import { leaseCallsOf, storedKeyOf, waitedLeaseOf } from './model.ts';

/** A longer chain of holders is not followed. */
const CHAIN_MAX = 10;
/** The most executions of a holder's session that are looked at. */
const PAGE = 1_000;

/** Undefined if the execution waits for no lease. */
export async function leaseWaitOf(
  config: EngineConfig,
  execution: ExecutionRecord,
): Promise<LeaseWait | undefined> {
  const resource = waitedLeaseOf(execution);
  if (resource === undefined) return undefined;
  const { holder, held } = await holderOf(config, execution.project, resource);
  if (held === undefined) return { resource, ...(holder && { holder }) };
  const cycle = [{ id: execution.id, resource }];
  let next = held;
  for (let links = 1; links < CHAIN_MAX; links += 1) {
    const wanted = next.status === 'running' ? waitedLeaseOf(next) : undefined;
    if (wanted === undefined) break;
    cycle.push({ id: next.id, resource: wanted });
    const found = (await holderOf(config, execution.project, wanted)).held;
    if (found === undefined || found.id === next.id) break;
    if (found.id === execution.id) return { resource, ...(holder && { holder }), cycle };
    next = found;
  }
  return { resource, ...(holder && { holder }) };
}

interface HolderFound {
  readonly holder?: LeaseWait['holder'];
  /** The execution that holds it, if one does. */
  readonly held?: ExecutionRecord;
}

async function holderOf(
  { store }: EngineConfig,
  project: ExecutionRecord['project'],
  resource: string,
): Promise<HolderFound> {
  const { state, record } = await store.leases.inspect(storedKeyOf(project, resource));
  if (record === undefined || state === 'free' || state === 'retired') return {};
  const { session: worker, owner, fence, grantedAt } = record;
  const query = { project, worker, status: ['running'] as const, limit: PAGE };
  const { items } = await store.executions.list(query);
  const held = items.find((each) =>
    leaseCallsOf(each).some((call) => 'holds' in call && call.fence === fence),
  );
  const by = held === undefined ? {} : { execution: held.id, pipeline: held.pipeline };
  return { holder: { owner, fence, since: grantedAt, ...by }, ...(held && { held }) };
}
