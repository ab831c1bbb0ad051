import type { InboxMessage } from '../../../execution/history.ts';
import type { ReadInbox } from '../../contract/execution-store.ts';
import { type InboxRow, toInboxMessage } from '../../execution-rows.ts';
import { type Database, statement } from '../database.ts';

const READ = statement(`
  select i.n, i.at, i.kind, i.name, i.body
    from hf.inbox i
   where i.execution_id = $1
     and i.n > $2
   order by i.n
   limit $3`);

export async function readInbox(
  database: Database,
  query: ReadInbox,
): Promise<readonly InboxMessage[]> {
  const rows = await database.rows<InboxRow & object>(READ, [query.id, query.after, query.limit]);
  return rows.map(toInboxMessage);
}
