import { LANES } from '../../../execution/execution.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { CountDepth, CountInFlight, Depth, InFlight } from '../../contract/census-store.ts';
import { LANE_CODES, laneOf } from '../../execution-rows.ts';
import type { ReadTransaction } from '../transaction.ts';

const IN_FLIGHT = `
  select session_id as session, lane, count(*) as count
    from execution indexed by execution_running
   where status = 1
     and session_id in (select value from json_each(:sessions))
     and (:project is null or project = :project)
   group by session_id, lane
   order by session_id, lane`;

const READY = `
  select count(*) as count
    from (select 1
            from execution indexed by execution_ready
           where ready_at is not null
             and hold = 0
             and lane = :lane
             and ready_at <= :now
           limit :max)`;

// The index begins with pipelines: from one to the next, so that those of others are not gone through.
const READY_OF = `
  with recursive
    route (pipeline) as (
      select min(pipeline)
        from execution indexed by execution_ready
       where ready_at is not null
         and hold = 0
       union all
      select (select min(pipeline)
                from execution indexed by execution_ready
               where ready_at is not null
                 and hold = 0
                 and pipeline > route.pipeline)
        from route
       where route.pipeline is not null
    )
  select count(*) as count
    from (select 1
            from route
            join execution as e indexed by execution_ready
              on e.pipeline = route.pipeline
           where e.ready_at is not null
             and e.hold = 0
             and e.lane = :lane
             and e.project = :project
             and e.ready_at <= :now
           limit :max)`;

const RUNNING = `
  select count(*) as count
    from (select 1
            from execution indexed by execution_running
           where status = 1
             and lane = :lane
             and (:project is null or project = :project)
           limit :max)`;

interface Counted {
  readonly session: SessionId;
  readonly lane: number;
  readonly count: number;
}

export function inFlight(
  tx: ReadTransaction,
  { sessions, project }: CountInFlight,
): readonly InFlight[] {
  const values = { sessions: JSON.stringify(sessions), project: project ?? null };
  return tx
    .all<Counted>(IN_FLIGHT, values)
    .map(({ session, lane, count }) => ({ session, lane: laneOf(lane), count }));
}

export function depth(tx: ReadTransaction, { max, project }: CountDepth): readonly Depth[] {
  const { now } = tx;
  return LANES.map((name) => {
    const lane = LANE_CODES[name];
    const ready =
      project === undefined
        ? tx.get<{ count: number }>(READY, { lane, max, now })
        : tx.get<{ count: number }>(READY_OF, { lane, max, now, project });
    const running = tx.get<{ count: number }>(RUNNING, { lane, max, project: project ?? null });
    return { lane: name, ready: ready?.count ?? 0, running: running?.count ?? 0 };
  });
}
