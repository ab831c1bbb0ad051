// Projects, access keys, saved views, and how much of its quotas a project uses.

import type { CountedQuota } from '../../../features/access/model.ts';
import type { AccessStore, CountUsage } from '../../../features/access/port.ts';
import { keyRangeOf } from '../../../features/leases/model.ts';
import { PROJECT_METADATA } from '../../../lease/session.ts';
import { routesUpTo } from '../census.ts';
import { dialects, one, type PlainGateway, type Script, type Sql } from '../script.ts';
import { channelsOf } from './channels.ts';
import { keysOf } from './keys.ts';
import { projectsOf } from './projects.ts';
import { viewsOf } from './views.ts';

export function accessOf(gateway: PlainGateway): AccessStore {
  return {
    ...projectsOf(gateway),
    ...keysOf(gateway),
    ...viewsOf(gateway),
    ...channelsOf(gateway),
    usage: (query) => gateway.read(() => usage(query)),
  };
}

function upToMax(rows: string): string {
  return `select count(*) as count from (select 1 from ${rows} limit :max::bigint) as found`;
}

const IN_PROJECT = 'e.project collate "POSIX" = :project';
const PIPELINE = 'e.pipeline collate "POSIX"';

const bytes = (isOfProject: string): string => `
  select coalesce((select sum(b.bytes) from hf.blob_of as b where ${isOfProject}), 0)::bigint
         + coalesce((select sum(a.size) from hf.attachment as a where a.project = :project), 0)::bigint as count`;

// Each count uses an index that contains no ended executions.
const COUNTS: Readonly<Record<CountedQuota, Sql>> = {
  executions: dialects({
    sqlite: upToMax(
      'execution indexed by execution_open where project = :project and ended_at is null',
    ),
    // Walks the list index one pipeline at a time and counts queued and waiting executions in it.
    // Running ones have an index of their own.
    postgres: `
  with recursive ${routesUpTo(Number.MAX_SAFE_INTEGER).postgres}
  select count(*) as count
    from (select 1
            from route p
           cross join (values (0::smallint), (2::smallint)) as s(status)
           cross join lateral (
                 select 1
                   from hf.execution e
                  where ${IN_PROJECT}
                    and ${PIPELINE} = p.name collate "POSIX"
                    and e.status between s.status and s.status
                    and e.status <> 1
                  order by e.status desc, e.id desc
                  limit :max::bigint
                 ) open
           union all
          select 1
            from hf.execution e
           where e.status = 1
             and e.project = :project
           limit :max::bigint) found`,
  }),
  sessions: dialects({
    sqlite: upToMax(
      `session indexed by session_project where ended_at is null and metadata ->> '$."${PROJECT_METADATA}"' = :project`,
    ),
    postgres: upToMax(
      `hf.session where ended_at is null and metadata ->> '${PROJECT_METADATA}' = :project`,
    ),
  }),
  leases: dialects({
    sqlite: upToMax('lease where key >= :first and key < :beyond'),
    postgres: upToMax('hf.lease where key >= :first and key < :beyond'),
  }),
  bytes: dialects({
    sqlite: bytes('b.project = :project'),
    postgres: bytes('b.project collate "POSIX" = :project'),
  }),
};

function* usage(query: CountUsage): Script<number> {
  const { first, beyond } = keyRangeOf(query.project);
  const row = yield* one<{ count: number }>(COUNTS[query.quota], { ...query, first, beyond });
  return row?.count ?? 0;
}
