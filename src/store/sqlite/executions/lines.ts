import type { LineOf, ListLines } from '../../contract/release-store.ts';
import { type LineOfRow, toLineOf } from '../../release-rows.ts';
import type { ReadTransaction } from '../transaction.ts';

// One step of the index for each pipeline, however many releases it has. The last step finds none.
const LINES = `
  with recursive named (pipeline) as (
    select min(pipeline)
      from release
     where project = :project
       and pipeline > :after
     union all
    select (select min(r.pipeline)
              from release r
             where r.project = :project
               and r.pipeline > named.pipeline)
      from named
     where named.pipeline is not null
     limit :limit
  )
  select named.pipeline, l.version, l.active, l.previous, l.candidate, l.percent
    from named
    left join release_line l on l.project = :project and l.pipeline = named.pipeline
   where named.pipeline is not null
   order by named.pipeline`;

export function lines(
  tx: ReadTransaction,
  { project, after = '', limit }: ListLines,
): readonly LineOf[] {
  return tx.all<LineOfRow>(LINES, { project, after, limit }).map(toLineOf);
}
