import type { InboxMessage } from '../../../execution/history.ts';
import type { ReadInbox } from '../../contract/execution-store.ts';
import { type InboxRow, toInboxMessage } from '../../execution-rows.ts';
import type { ReadTransaction } from '../transaction.ts';

// `+ 0`, as in ready-rows.ts: a bare parameter would be planned for at every call.
const PAGE = `
  select n, at, kind, name, body
    from inbox
   where execution_id = :id
     and n > :after
   order by n
   limit :limit + 0`;

export function inbox(tx: ReadTransaction, query: ReadInbox): readonly InboxMessage[] {
  const { id, after, limit } = query;
  return tx.all<InboxRow>(PAGE, { id, after, limit }).map(toInboxMessage);
}
