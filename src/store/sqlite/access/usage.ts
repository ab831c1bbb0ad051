import type { QuotaName } from '../../../access/quota.ts';
import type { CountUsage } from '../../contract/access-store.ts';
import { SESSION_PROJECT } from '../reclaim.ts';
import type { ReadTransaction } from '../transaction.ts';

function upToMax(rows: string): string {
  return `select count(*) as count from (select 1 from ${rows} limit :max)`;
}

// Each by an index that has nothing in it of what is over, but for keys, which are few and seldom made.
const COUNTS: Readonly<Record<QuotaName, string>> = {
  executions: upToMax(
    'execution indexed by execution_open where project = :project and ended_at is null',
  ),
  schedules: upToMax('schedule where project = :project'),
  sessions: upToMax(
    `session indexed by session_project where ended_at is null and ${SESSION_PROJECT} = :project`,
  ),
  keys: upToMax(
    'access_key where project = :project and coalesce(ended_at > :now, 1) and coalesce(expires_at > :now, 1)',
  ),
  bytes: `
  select coalesce((select sum(bytes) from blob_of where project = :project), 0)
         + coalesce((select sum(size) from attachment where project = :project), 0) as count`,
};

export function usage(tx: ReadTransaction, { project, quota, max }: CountUsage): number {
  const values = {
    project,
    ...(quota === 'bytes' ? {} : { max }),
    ...(quota === 'keys' ? { now: tx.now } : {}),
  };
  return tx.get<{ count: number }>(COUNTS[quota], values)?.count ?? 0;
}
