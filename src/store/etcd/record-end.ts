// Ends that follow from a session or a deadline are written into the lease's own key, once (E-3).

import { endedLease } from '../../lease/decide/term.ts';
import type { Fence } from '../../lease/fence.ts';
import { termEnd } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { Database } from './database.ts';
import { loadChain, loadTerm } from './load-view.ts';
import { toSession } from './records.ts';
import { appendEnded, saveLease } from './save-lease.ts';

export interface EndedTerm {
  readonly key: LeaseKey;
  readonly fence: Fence;
}

/** At most `limit`, of all terms that are over and do not say so. */
export async function recordEnds(database: Database, limit: number): Promise<readonly EndedTerm[]> {
  const ended: EndedTerm[] = [];
  const record = async (key: LeaseKey): Promise<boolean> => {
    const one = await recordEnd(database, key);
    if (one !== undefined) ended.push(one);
    return ended.length >= limit;
  };
  const carriers = [...(await overCarriers(database)), ...(await unknownCarriers(database))];
  for (const id of carriers) {
    const keys = await carriedKeys(database, id, limit);
    for (const key of keys) if (await record(key)) return ended;
    if (keys.length < limit) await forgetEnding(database, id);
  }
  for (const key of await passedDeadlines(database, limit)) if (await record(key)) return ended;
  return ended;
}

/** What was listed is looked at again, in the transaction that writes. */
async function recordEnd(database: Database, key: LeaseKey): Promise<EndedTerm | undefined> {
  const { result } = await database.write(async (tx) => {
    const { lease, holder } = await loadTerm(tx, key);
    if (lease === undefined || lease.end !== undefined) return undefined;
    const end = termEnd(lease, holder, tx.now);
    if (end === undefined) return undefined;
    const after = endedLease(lease, end, database.policy);
    saveLease(tx, lease, after);
    appendEnded(tx, after, { end, at: tx.now });
    return { key, fence: lease.fence };
  }, 'etcd');
  return result;
}

/** Sessions that have ended, or below one that has, and may carry something. */
async function overCarriers(database: Database): Promise<readonly SessionId[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const live = (await tx.list(keys.allLive)).kvs.map((kv) => toSession(kv));
    const living = new Set(live.map(({ id }) => id));
    const orphaned = live.filter(({ path }) => path.some((id) => !living.has(id)));
    const { kvs } = await tx.list(keys.allEnding, { keysOnly: true });
    const ending = kvs.map(({ key }) => key.slice(keys.allEnding.length) as SessionId);
    return [...ending, ...orphaned.map(({ id }) => id)];
  });
}

/** Each sweep looks through so many of all that is carried, and the next one goes on from there. */
const LOOKED_THROUGH = 500;

/** E-5: sessions that carry something and that nobody knows. */
async function unknownCarriers(database: Database): Promise<readonly SessionId[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const { allCarried } = keys;
    const from = database.lookedThrough ?? allCarried;
    const page = { from, limit: LOOKED_THROUGH, keysOnly: true };
    const { kvs } = await tx.list(allCarried, page);
    database.lookedThrough = kvs.length < LOOKED_THROUGH ? undefined : kvs.at(-1)?.key;
    const sessionIn = (key: string) => key.slice(allCarried.length).split('/')[0] as SessionId;
    const carriers = [...new Set(kvs.map(({ key }) => sessionIn(key)))];
    // All at once; most of them are there.
    await tx.load(
      carriers.map((id) => keys.live(id)),
      'seen',
    );
    const unknown: SessionId[] = [];
    for (const id of carriers) {
      if ((await loadChain(tx, id, 'seen')).length === 0) unknown.push(id);
    }
    return unknown;
  });
}

async function carriedKeys(
  database: Database,
  id: SessionId,
  limit: number,
): Promise<readonly LeaseKey[]> {
  const { connection } = database;
  const prefix = connection.keys.carriedBy(id);
  const { kvs } = await connection.list(prefix, { limit, keysOnly: true });
  return kvs.map(({ key }) => key.slice(prefix.length) as LeaseKey);
}

/** Nothing is carried by it any more, and nothing will be. */
async function forgetEnding(database: Database, id: SessionId): Promise<void> {
  await database.write(async (tx) => {
    const ending = tx.keys.ending(id);
    await tx.load([ending]);
    const { kvs } = await tx.list(tx.keys.carriedBy(id), { limit: 1, keysOnly: true });
    if (tx.get(ending) !== undefined && kvs.length === 0) tx.delete(ending);
  }, 'etcd');
}

async function passedDeadlines(database: Database, limit: number): Promise<readonly LeaseKey[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    await tx.load([keys.clock], 'seen');
    const to = keys.deadline(tx.now + 1, '' as LeaseKey);
    const { kvs } = await tx.list(keys.allDeadlines, { to, limit, keysOnly: true });
    const start = to.length;
    return kvs.map(({ key }) => key.slice(start) as LeaseKey);
  });
}
