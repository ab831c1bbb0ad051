import type { AccessStore, CountUsage } from '../../features/access/port.ts';
import type { CountedQuota } from '../../features/access/quota-model.ts';
import { keysOf } from '../sql/access/keys.ts';
import { projectsOf } from '../sql/access/projects.ts';
import type { Database } from './database.ts';
import { accessGatewayOf } from './gateway.ts';
import { SESSION_PROJECT } from './reclaim.ts';
import type { ReadTransaction } from './transaction.ts';

export function accessOf(database: Database): AccessStore {
  const gateway = accessGatewayOf(database);
  return {
    ...projectsOf(gateway),
    ...keysOf(gateway),
    usage: (query) => database.read((tx) => usage(tx, query)),
  };
}

function upToMax(rows: string): string {
  return `select count(*) as count from (select 1 from ${rows} limit :max)`;
}

// Each by an index that has nothing in it of what is over.
const COUNTS: Readonly<Record<CountedQuota, string>> = {
  executions: upToMax(
    'execution indexed by execution_open where project = :project and ended_at is null',
  ),
  sessions: upToMax(
    `session indexed by session_project where ended_at is null and ${SESSION_PROJECT} = :project`,
  ),
  bytes: `
  select coalesce((select sum(bytes) from blob_of where project = :project), 0)
         + coalesce((select sum(size) from attachment where project = :project), 0) as count`,
};

export function usage(tx: ReadTransaction, { project, quota, max }: CountUsage): number {
  const values = { project, ...(quota === 'bytes' ? {} : { max }) };
  return tx.get<{ count: number }>(COUNTS[quota], values)?.count ?? 0;
}
