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

/** From one pipeline to the next, with which both indexes begin: those of others are not gone through. */
const routes = (name: string, gated: string): string => `
    ${name} (pipeline) as (
      select min(e.pipeline)
        from hf.execution e
       where e.ready_at is not null and e.hold = 0 and ${gated}
       union all
      select (select min(e.pipeline)
                from hf.execution e
               where e.ready_at is not null and e.hold = 0 and ${gated}
                 and e.pipeline > r.pipeline)
        from ${name} r
       where r.pipeline is not null
    )`;

const readyIn = (name: string, gated: string): string => `
                  select 1
                    from ${name} r
                    join hf.execution e on e.pipeline = r.pipeline
                   where e.ready_at is not null and e.hold = 0 and ${gated}
                     and e.lane = l.lane and e.project = $2 and e.ready_at <= clock.now`;

const DEPTH_OF = statement(`
  with recursive ${routes('plain', 'not e.gated')}, ${routes('gated', 'e.gated')}
  select l.lane,
         (select count(*)
            from (${readyIn('plain', 'not e.gated')}
                   union all
                  ${readyIn('gated', 'e.gated')}
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

export async function depth(
  database: Database,
  { max, project }: CountDepth,
): Promise<readonly Depth[]> {
  const [of, values] = project === undefined ? [DEPTH, [max]] : [DEPTH_OF, [max, project]];
  const rows = await database.rows<{ lane: number; ready: number; running: number }>(of, values);
  return rows.map(({ lane, ready, running }) => ({ lane: laneOf(lane), ready, running }));
}
