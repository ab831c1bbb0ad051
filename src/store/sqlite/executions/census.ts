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

// One step of the index for each pipeline that has anything ready, then only what is of the project.
const READY_OF_PROJECT = `
  with recursive waiting (pipeline) as (
    select min(pipeline)
      from execution indexed by execution_ready
     where ready_at is not null
       and hold = 0
     union all
    select (select min(e.pipeline)
              from execution e indexed by execution_ready
             where e.ready_at is not null
               and e.hold = 0
               and e.pipeline > waiting.pipeline)
      from waiting
     where waiting.pipeline is not null
  )
  select count(*) as count
    from (select 1
            from waiting
           cross join execution indexed by execution_ready
           where execution.pipeline = waiting.pipeline
             and execution.ready_at is not null
             and execution.hold = 0
             and execution.lane = :lane
             and execution.project = :project
             and execution.ready_at <= :now
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
  return LANES.map((name) => {
    const lane = LANE_CODES[name];
    const due = { lane, max, now: tx.now };
    const ready =
      project === undefined
        ? tx.get<{ count: number }>(READY, due)
        : tx.get<{ count: number }>(READY_OF_PROJECT, { ...due, project });
    const running = tx.get<{ count: number }>(RUNNING, { lane, max, project: project ?? null });
    return { lane: name, ready: ready?.count ?? 0, running: running?.count ?? 0 };
  });
}
