import type { SessionId } from '../../lease/names.ts';
import type { Sweep, Swept } from '../../lease/port.ts';
import { adoptCluster } from './adopt-cluster.ts';
import type { Database } from './database.ts';
import { deleteOld } from './delete-old.ts';
import { isOver } from './line.ts';
import { reclaim } from './reclaim.ts';
import { recordEnds } from './record-end.ts';
import { toSession, toTicket } from './records.ts';

export async function sweep(database: Database, request: Sweep): Promise<Swept> {
  const { limit } = request;
  await adoptCluster(database);
  const overdue = await listOverdue(database);
  const candidates = overdue.slice(0, limit);
  const { expired, paused } =
    candidates.length === 0 ? { expired: [], paused: 0 } : await reclaim(database, candidates);
  const ended = await recordEnds(database, limit);
  await dropDeadTickets(database);
  const deleted = await deleteOld(database, limit);
  // Who is overdue and cannot be proved to be is not more to do now.
  const more = (overdue.length > limit && expired.length > 0) || ended.length >= limit;
  return { expired, ended, deleted, paused, more };
}

/** What is listed is no evidence; reclaim looks again (E-2). */
async function listOverdue(database: Database): Promise<readonly SessionId[]> {
  return database.read(async (tx) => {
    const live = (await tx.list(tx.keys.allLive)).kvs.map((kv) => toSession(kv));
    const { now } = tx;
    return live
      .filter((session) => session.expiresAt <= now)
      .sort((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id);
  });
}

/** As many as surely fit into one transaction. */
const AT_ONCE = 50;

async function dropDeadTickets(database: Database): Promise<void> {
  await database.write(async (tx) => {
    const { kvs } = await tx.list(tx.keys.allLines);
    let dropped = 0;
    for (const kv of kvs) {
      if (dropped >= AT_ONCE || !(await isOver(tx, toTicket(kv)))) continue;
      await tx.load([kv.key]);
      if (tx.get(kv.key)?.modRevision !== kv.modRevision) continue;
      tx.delete(kv.key);
      dropped += 1;
    }
  }, 'etcd');
}
