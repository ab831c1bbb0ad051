import type { LineOf, ListLines } from '../../contract/release-store.ts';
import { type LineOfRow, toLineOf } from '../../release-rows.ts';
import { type Queries, statement } from '../database.ts';

// One step of the index for each pipeline, however many releases it has. The last step finds none.
const LINES = statement(`
  with recursive named (pipeline, nth) as (
    select min(r.pipeline), 1
      from hf.release r
     where r.project = $1
       and r.pipeline > $2
     union all
    select (select min(r.pipeline)
              from hf.release r
             where r.project = $1
               and r.pipeline > n.pipeline), n.nth + 1
      from named n
     where n.pipeline is not null
       and n.nth < $3
  )
  select n.pipeline, l.version, l.active, l.previous, l.candidate, l.percent
    from named n
    left join hf.release_line l on l.project = $1 and l.pipeline = n.pipeline
   where n.pipeline is not null
   order by n.pipeline`);

export async function lines(
  queries: Queries,
  { project, after = '', limit }: ListLines,
): Promise<readonly LineOf[]> {
  const rows = await queries.rows<LineOfRow & object>(LINES, [project, after, limit]);
  return rows.map(toLineOf);
}
