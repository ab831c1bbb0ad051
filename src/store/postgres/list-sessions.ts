import type { SessionId } from '../../lease/names.ts';
import type { ListSessions, SessionInspection } from '../../lease/port.ts';
import { type Database, statement } from './database.ts';
import { loadChains } from './load-view.ts';
import { inspection } from './reads.ts';

const LIST_SESSIONS = statement(`
  select s.id
    from hf.session s
   where ($1::uuid is null or s.id > $1)
     and ($2 or s.ended_at is null)
   order by s.id
   limit $3`);

export async function listSessions(
  database: Database,
  query: ListSessions,
): Promise<readonly SessionInspection[]> {
  const rows = await database.rows<{ id: SessionId }>(LIST_SESSIONS, [
    query.after ?? null,
    query.all === true,
    query.limit,
  ]);
  const { now, chains } = await loadChains(
    database,
    rows.map((row) => row.id),
  );
  return chains.map((chain) => inspection(chain, now)).filter((each) => each !== undefined);
}
