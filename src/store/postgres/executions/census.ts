import type { SessionId } from '../../../lease/names.ts';
import type { CountDepth, CountInFlight, Depth, InFlight } from '../../contract/census-store.ts';
import { laneOf } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';
import { uuids } from './arrays.ts';

const IN_FLIGHT = statement(`
  select e.session_id as session, e.lane, count(*) as count
    from hf.execution e
   where e.status = 1
     and e.session_id = any($1::uuid[])
     and ($2::text is null or e.project = $2)
   group by e.session_id, e.lane
   order by e.session_id, e.lane`);

// What is ready stands in two indexes; each is asked in its own words, or the table would be read instead.
const DEPTH = statement(`
  select l.lane,
         (select count(*)
            from (select 1
                    from hf.execution e
                   where e.ready_at is not null and e.hold = 0 and not e.gated
                     and e.lane = l.lane and e.ready_at <= clock.now
                   union all
                  select 1
                    from hf.execution e
                   where e.ready_at is not null and e.hold = 0 and e.gated
                     and e.lane = l.lane and e.ready_at <= clock.now
                   limit $1) r) as ready,
         (select count(*)
            from (select 1
                    from hf.execution e
                   where e.status = 1
                     and e.lane = l.lane
                   limit $1) r) as running
    from (values (0), (1)) l(lane), (select hf_now() as now) clock
   order by l.lane`);

const walk = (name: string, isGated: string): string => `${name} (pipeline) as (
    (select e.pipeline
       from hf.execution e
      where e.ready_at is not null and e.hold = 0 and ${isGated}
      order by e.pipeline
      limit 1)
     union all
    select (select e.pipeline
              from hf.execution e
             where e.ready_at is not null and e.hold = 0 and ${isGated}
               and e.pipeline > ${name}.pipeline
             order by e.pipeline
             limit 1)
      from ${name}
     where ${name}.pipeline is not null
  )`;

const ready = (name: string, isGated: string): string => `select 1
                    from ${name}
                   cross join lateral (
                          select 1
                            from hf.execution e
                           where e.ready_at is not null and e.hold = 0 and ${isGated}
                             and e.pipeline = ${name}.pipeline
                             and e.lane = l.lane and e.project = $2 and e.ready_at <= clock.now
                           limit $1) found`;

// One step of an index for each pipeline that has anything ready, then only what is of the project.
const DEPTH_OF_PROJECT = statement(`
  with recursive ${walk('open', 'not e.gated')},
  ${walk('gated', 'e.gated')}
  select l.lane,
         (select count(*)
            from (${ready('open', 'not e.gated')}
                   union all
                  ${ready('gated', 'e.gated')}
                   limit $1) r) as ready,
         (select count(*)
            from (select 1
                    from hf.execution e
                   where e.status = 1
                     and e.lane = l.lane
                     and e.project = $2
                   limit $1) r) as running
    from (values (0), (1)) l(lane), (select hf_now() as now) clock
   order by l.lane`);

interface Counted {
  readonly session: SessionId;
  readonly lane: number;
  readonly count: number;
}

export async function inFlight(
  database: Database,
  { sessions, project }: CountInFlight,
): Promise<readonly InFlight[]> {
  const values = [uuids(sessions), project ?? null];
  const rows = await database.rows<Counted>(IN_FLIGHT, values);
  return rows.map(({ session, lane, count }) => ({ session, lane: laneOf(lane), count }));
}

interface DepthRow {
  readonly lane: number;
  readonly ready: number;
  readonly running: number;
}

export async function depth(
  database: Database,
  { max, project }: CountDepth,
): Promise<readonly Depth[]> {
  const rows =
    project === undefined
      ? await database.rows<DepthRow>(DEPTH, [max])
      : await database.rows<DepthRow>(DEPTH_OF_PROJECT, [max, project]);
  return rows.map(({ lane, ready, running }) => ({ lane: laneOf(lane), ready, running }));
}
