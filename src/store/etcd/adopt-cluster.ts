// What to do when etcd is not as it was. Every answer says of which cluster it is and in which term of a
// leader. A new term means that there was an election, and so perhaps nobody to renew with: everybody
// alive gets the fair chance (E-6). Another cluster, or a term that was over long ago, means that this
// is a copy that was restored, which may have forgotten grants: the epoch rises (T-4). So does a store
// that has issued less than this client knows of. Grants, reclaim and heartbeats look first.

import type { Identity, Kv } from './connection.ts';
import type { Database } from './database.ts';
import { lastIssued, loadEpoch } from './load-view.ts';
import { fromJson } from './records.ts';
import { extendLiving, liftFences } from './recover.ts';
import type { Transaction } from './transaction.ts';

/** Whether the cluster that answers is the one last seen, in the same term. Guarded. */
export async function isSameCluster(tx: Transaction): Promise<boolean> {
  const { cluster } = tx.keys;
  await tx.load([cluster]);
  const seen = seenIn(tx.get(cluster));
  return (
    seen.cluster === tx.identity.cluster &&
    seen.term === tx.identity.term &&
    !(await hasGoneBack(tx))
  );
}

/** Safe to call at any time, from many processes at once. */
export async function adoptCluster(database: Database): Promise<void> {
  if (await database.read(isSameCluster)) return;
  // Everybody is given time before anybody can know that it is over; what was begun and not finished is
  // begun again by whoever comes next, and extends nobody twice.
  await extendLiving(database);
  await database.write(async (tx) => {
    if (await isSameCluster(tx)) return;
    const seen = seenIn(tx.get(tx.keys.cluster));
    const { identity } = tx;
    if (isElsewhere(seen, identity) || (await hasGoneBack(tx))) {
      database.connection.moved(identity);
      const reason = `another cluster, from ${seen.cluster}/${seen.term} to ${identity.cluster}/${identity.term}`;
      await liftFences(tx, { actor: 'holdfast', reason, endHalt: false });
    }
    tx.put(tx.keys.cluster, fromIdentity(identity));
  }, 'etcd');
}

/** Whether it has issued less than this client knows of, whatever it says of itself. */
async function hasGoneBack(tx: Transaction): Promise<boolean> {
  return lastIssued(tx, await loadEpoch(tx)) < tx.seenFence;
}

export function fromIdentity(identity: Identity): string {
  return JSON.stringify(identity);
}

/** Terms only rise while a cluster lives, and no member answers with one that is behind what it stores. */
function isElsewhere(seen: Identity, now: Identity): boolean {
  return seen.cluster !== now.cluster || seen.term > now.term;
}

function seenIn(kv: Kv | undefined): Identity {
  return kv === undefined ? { cluster: '', term: 0 } : fromJson<Identity>(kv);
}
