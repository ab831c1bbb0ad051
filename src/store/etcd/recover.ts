import { epochOf, type Fence, isIssuable, raisedOrigin } from '../../lease/fence.ts';
import type { SessionId } from '../../lease/names.ts';
import type { EpochRaised, RaiseEpoch, Recovered } from '../../lease/port.ts';
import { fairChanceUntil } from '../../lease/reclaim.ts';
import type { Refusal } from '../../lease/refusal.ts';
import type { Instant } from '../../support/clock.ts';
import { toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { lastIssued, loadEpoch } from './load-view.ts';
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

/** Grants that are made while the epoch is being raised have fences up to here above what was read. */
const UNDER_WAY_MAX = 1_000_000;

export async function raiseEpoch(database: Database, request: RaiseEpoch): Promise<EpochRaised> {
  const { result } = await database.write(
    (tx) => liftFences(tx, { ...request, endHalt: true }),
    'etcd',
  );
  return { kind: 'raised', epoch: result };
}

/** Every grant is conditioned on the key of the epoch, so none is made of the old one afterwards (T-3). */
export async function liftFences(
  tx: Transaction,
  request: RaiseEpoch & { readonly endHalt: boolean },
): Promise<number> {
  const { keys } = tx;
  const epoch = await loadEpoch(tx);
  await tx.load([keys.halt]);
  const presented = toNumber(tx.get(keys.halt)) ?? 0;
  const issued = Math.max(lastIssued(tx, epoch), tx.seenFence);
  const origin = raisedOrigin(issued + UNDER_WAY_MAX, presented);
  tx.put(keys.epoch, JSON.stringify({ origin }));
  if (request.endHalt) tx.delete(keys.halt);
  tx.append({
    kind: 'epoch-raised',
    at: tx.now,
    actor: request.actor,
    cause: request.reason,
  });
  return epochOf(origin);
}

/** Somebody showed a fence that was never issued: stop granting until a person looks (T-4). */
export async function haltIfAhead(
  database: Database,
  fence: Fence,
  refusal: Pick<Refusal, 'why'>,
): Promise<void> {
  if (refusal.why !== 'fence-ahead' || !isIssuable(fence)) return;
  await database.write(async (tx) => {
    const { halt } = tx.keys;
    await tx.load([halt]);
    if (fence <= lastIssued(tx, await loadEpoch(tx))) return;
    const before = toNumber(tx.get(halt));
    // The epoch must rise above the highest fence presented, not above the first.
    if (before !== undefined && before >= fence) return;
    tx.put(halt, String(fence));
    if (before !== undefined) return;
    tx.append({ kind: 'alarm', at: tx.now, alarm: 'fence-ahead', cause: `fence ${fence}` });
  }, 'etcd');
}
