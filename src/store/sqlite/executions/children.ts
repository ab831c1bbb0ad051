import type { ExecutionId, PipelineName } from '../../../execution/names.ts';
import { parseRoute } from '../../../execution/route.ts';
import type { ChildSummary, ListChildren } from '../../contract/execution-store.ts';
import { toStatus } from '../../execution-rows.ts';
import type { ReadTransaction } from '../transaction.ts';

// `+ 0`, as in ready-rows.ts: a bare parameter would be planned for at every call.
const PAGE = `
  select id, pipeline, status
    from execution indexed by execution_parent
   where parent_id = :parent
     and id > :after
   order by id
   limit :limit + 0`;

interface Row {
  readonly id: ExecutionId;
  readonly pipeline: PipelineName;
  readonly status: number;
}

export function children(tx: ReadTransaction, query: ListChildren): readonly ChildSummary[] {
  const { parent, after = '', limit } = query;
  return tx.all<Row>(PAGE, { parent, after, limit }).map(({ id, pipeline, status }) => ({
    id,
    pipeline: parseRoute(pipeline).pipeline,
    status: toStatus(status),
  }));
}
