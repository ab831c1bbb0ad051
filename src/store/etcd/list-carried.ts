import { ownDeadline, termEnd } from '../../lease/lease.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { CarriedLease } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import type { Database } from './database.ts';
import { loadChain } from './load-view.ts';
import { toLease } from './records.ts';
import { moveClock } from './timekeeper.ts';
import type { Transaction } from './transaction.ts';

export async function listCarried(
  database: Database,
  id: SessionId,
): Promise<readonly CarriedLease[]> {
  const carried = await database.read((tx) => carriedAt(tx, id, () => tx.now));
  if (carried.every(({ deadlineInMs }) => deadlineInMs === undefined)) return carried;
  // The holder acts on what is left of a deadline. What it is told must not be too much, so the time is
  // written anew and counted from when that was sent.
  const latest = await moveClock(database);
  return database.read((tx) => carriedAt(tx, id, latest));
}

async function carriedAt(
  tx: Transaction,
  id: SessionId,
  time: () => Instant,
): Promise<readonly CarriedLease[]> {
  const { keys } = tx;
  const holder = await loadChain(tx, id);
  const prefix = keys.carriedBy(id);
  const names = (await tx.list(prefix, { keysOnly: true })).kvs.map(
    ({ key }) => key.slice(prefix.length) as LeaseKey,
  );
  await tx.load(names.flatMap((key) => [keys.term(key), keys.lease(key)]));
  const now = time();
  const carried: CarriedLease[] = [];
  for (const key of names) {
    const lease = toLease(key, tx.get(keys.term(key)), tx.get(keys.lease(key)));
    if (lease === undefined || termEnd(lease, holder, now) !== undefined) continue;
    const deadline = ownDeadline(lease);
    carried.push({
      key,
      fence: lease.fence,
      ...(lease.drain === undefined ? {} : { drain: lease.drain }),
      ...(deadline === undefined ? {} : { deadlineInMs: deadline - now }),
    });
  }
  return carried;
}
