import type { SessionId } from '../../lease/names.ts';
import type { ListSessions, SessionInspection } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { inspection } from './inspect-session.ts';
import { loadChain, withNotices } from './load-view.ts';
import type { Transaction } from './transaction.ts';

export async function listSessions(
  database: Database,
  query: ListSessions,
): Promise<readonly SessionInspection[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const prefixes = query.all === true ? [keys.allLive, keys.allEnded] : [keys.allLive];
    const found = await Promise.all(prefixes.map((prefix) => idsBelow(tx, prefix, query)));
    const ids = found.flat().sort().slice(0, query.limit);
    // All at once; the loads below then find everything.
    await tx.load(
      ids.flatMap((id) => [keys.live(id), keys.notices(id)]),
      'seen',
    );
    const listed: SessionInspection[] = [];
    for (const id of ids) {
      const one = inspection(await withNotices(tx, await loadChain(tx, id, 'seen')), tx.now);
      if (one !== undefined) listed.push(one);
    }
    return listed;
  });
}

async function idsBelow(
  tx: Transaction,
  prefix: string,
  query: ListSessions,
): Promise<readonly SessionId[]> {
  // The least text that comes after it.
  const from = query.after === undefined ? prefix : `${prefix}${query.after}\0`;
  const { kvs } = await tx.list(prefix, { from, limit: query.limit, keysOnly: true });
  return kvs.map(({ key }) => key.slice(prefix.length) as SessionId);
}
