import type { ExecutionId, PipelineName } from '../../../execution/names.ts';
import { parseRoute } from '../../../execution/route.ts';
import type { ChildSummary, ListChildren } from '../../contract/execution-store.ts';
import { type Database, statement } from '../database.ts';
import { statusOf } from './rows.ts';

// `between` and the order leave the planner the index of parents; by the primary key it would read all.
const LIST = statement(`
  select e.id, e.pipeline, e.status
    from hf.execution e
   where e.parent_id between $1 and $1
     and e.id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
   order by e.parent_id, e.id
   limit $3`);

export async function listChildren(
  database: Database,
  query: ListChildren,
): Promise<readonly ChildSummary[]> {
  const values = [query.parent, query.after ?? null, query.limit];
  const rows = await database.rows<{ id: ExecutionId; pipeline: PipelineName; status: number }>(
    LIST,
    values,
  );
  return rows.map(({ id, pipeline, status }) => ({
    id,
    pipeline: parseRoute(pipeline).pipeline,
    status: statusOf(status),
  }));
}
