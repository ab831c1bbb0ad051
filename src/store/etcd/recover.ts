import type { SessionId } from '../../lease/names.ts';
import type { Recovered } from '../../lease/port.ts';
import { fairChanceUntil } from '../../lease/reclaim.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { fromSession, type StoredSession, toSession } from './records.ts';
import type { Transaction } from './transaction.ts';

/** As many as surely fit into one transaction. */
const AT_ONCE = 50;

export async function recover(database: Database): Promise<Recovered> {
  return { extended: await extendLiving(database) };
}

/** E-6: at most once per heartbeat received, so that repeated outages cannot extend for ever. */
export async function extendLiving(database: Database): Promise<number> {
  const { policy } = database;
  const until = ({ ttlMs }: StoredSession, now: Instant): Instant =>
    fairChanceUntil(ttlMs, policy, now);
  const { due } = await database.read(async (tx) => {
    const { kvs } = await tx.list(tx.keys.allLive);
    const sessions = kvs.map((kv) => toSession(kv));
    return { due: sessions.filter((each) => isDue(each, until(each, tx.now))) };
  });
  let extended = 0;
  for (let from = 0; from < due.length; from += AT_ONCE) {
    const ids = due.slice(from, from + AT_ONCE).map(({ id }) => id);
    const { result } = await database.write((tx) => extend(tx, ids, until), 'etcd');
    extended += result;
  }
  return extended;
}

/** Gives those of the sessions that still need it time until then, and marks them. */
export async function extend(
  tx: Transaction,
  ids: readonly SessionId[],
  until: (session: StoredSession, now: Instant) => Instant,
): Promise<number> {
  const { keys } = tx;
  await tx.load(ids.map((id) => keys.live(id)));
  const { now } = tx;
  let extended = 0;
  for (const id of ids) {
    const kv = tx.get(keys.live(id));
    const session = kv === undefined ? undefined : toSession(kv);
    if (session === undefined) continue;
    const expiresAt = until(session, now);
    if (!isDue(session, expiresAt)) continue;
    tx.put(keys.live(id), fromSession({ ...session, expiresAt, extended: true, setAt: now }));
    extended += 1;
  }
  return extended;
}

function isDue(session: StoredSession, expiresAt: Instant): boolean {
  return !session.extended && session.expiresAt < expiresAt;
}
