import type { SessionId } from '../../lease/names.ts';
import type { ListSessions, SessionInspection } from '../../lease/port.ts';
import { inspectSession } from './inspect-session.ts';
import type { ReadTransaction } from './transaction.ts';

// By the index of the living, so that a page does not walk over all that have ended.
const LIST_LIVING = `
  select id
    from session indexed by session_expiry
   where ended_at is null
     and id > :after
   order by id
   limit :limit`;

const LIST_ALL = `
  select id
    from session
   where id > :after
   order by id
   limit :limit`;

export function listSessions(
  tx: ReadTransaction,
  query: ListSessions,
): readonly SessionInspection[] {
  const sql = query.all === true ? LIST_ALL : LIST_LIVING;
  return tx
    .all<{ id: SessionId }>(sql, { after: query.after ?? '', limit: query.limit })
    .map(({ id }) => inspectSession(tx, id))
    .filter((each) => each !== undefined);
}
