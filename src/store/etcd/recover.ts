import { epochOf, type Fence, isIssuable, raisedOrigin } from '../../lease/fence.ts';
import type { SessionId } from '../../lease/names.ts';
import type { EpochRaised, RaiseEpoch, Recovered } from '../../lease/port.ts';
import { fairChanceUntil } from '../../lease/reclaim.ts';
import type { Refusal } from '../../lease/refusal.ts';
import type { Instant } from '../../support/clock.ts';
import { type Identity, type Kv, toNumber } from './connection.ts';
import type { Database, Transaction } from './database.ts';
import { lastIssued, liveSessions, loadEpoch } from './load-view.ts';
import { fromJson, fromSession, type StoredSession, toSession } from './records.ts';

/** This number certainly fits into one transaction. */
const AT_ONCE = 50;

export async function recover(database: Database): Promise<Recovered> {
  return { extended: await extendLiving(database) };
}

/**
 * Extends a session at most once per heartbeat, so that repeated outages cannot extend it for ever
 * (E-6).
 */
async function extendLiving(database: Database): Promise<number> {
  const { policy } = database;
  const until = ({ ttlMs }: StoredSession, now: Instant): Instant =>
    fairChanceUntil(ttlMs, policy, now);
  const due = await database.read(async (tx) => {
    const live = await liveSessions(tx);
    return live.filter((each) => isDue(each, until(each, tx.now)));
  });
  let extended = 0;
  for (let from = 0; from < due.length; from += AT_ONCE) {
    const ids = due.slice(from, from + AT_ONCE).map(({ id }) => id);
    const { result } = await database.write((tx) => extend(tx, ids, until), 'etcd');
    extended += result;
  }
  return extended;
}

/** Extends the sessions that still need it, and marks them. */
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

/** The number of fences that grants may use while the epoch is being raised. */
const UNDER_WAY_MAX = 1_000_000;

export async function raiseEpoch(database: Database, request: RaiseEpoch): Promise<EpochRaised> {
  const { result } = await database.write(
    (tx) => liftFences(tx, { ...request, endHalt: true }),
    'etcd',
  );
  return { kind: 'raised', epoch: result };
}

/**
 * Every grant is conditioned on the key of the epoch, so no later grant belongs to the old one
 * (T-3).
 */
async function liftFences(
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
  tx.append({ kind: 'epoch-raised', at: tx.now, actor: request.actor, cause: request.reason });
  return epochOf(origin);
}

/**
 * A caller showed a fence that this store never issued. Halt grants until an operator acts (T-4).
 */
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
    // The epoch must rise above the highest fence shown, not above the first.
    if (before !== undefined && before >= fence) return;
    tx.put(halt, String(fence));
    if (before !== undefined) return;
    tx.append({ kind: 'alarm', at: tx.now, alarm: 'fence-ahead', cause: `fence ${fence}` });
  }, 'etcd');
}

// Handles changes of the etcd cluster. Every reply contains the cluster's id and the raft term. A
// new term means that there was an election, during which no session could renew, so all live
// sessions get the fair chance (E-6). Another cluster, or an older term, means a restored copy that
// may have forgotten grants, so the epoch rises (T-4). The epoch also rises if the store has issued
// less than this client knows. Grants, reclaims and heartbeats check this first.

/** Returns true if the replying cluster is the last seen one, in the same term. Guarded. */
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
  // Extend all sessions first, before any process can treat one as expired. If this process dies in
  // between, the next one starts again and extends no session twice.
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

/** Returns true if the store has issued less than this client knows, whatever it reports. */
async function hasGoneBack(tx: Transaction): Promise<boolean> {
  return lastIssued(tx, await loadEpoch(tx)) < tx.seenFence;
}

export function fromIdentity(identity: Identity): string {
  return JSON.stringify(identity);
}

/**
 * Terms only rise while a cluster lives, and no member replies with one that is behind its stored
 * term.
 */
function isElsewhere(seen: Identity, now: Identity): boolean {
  return seen.cluster !== now.cluster || seen.term > now.term;
}

function seenIn(kv: Kv | undefined): Identity {
  return kv === undefined ? { cluster: '', term: 0 } : fromJson<Identity>(kv);
}
