import type { SessionId } from '../../lease/names.ts';
import { type Census, decideReclaim } from '../../lease/reclaim.ts';
import type { Instant } from '../../support/clock.ts';
import type { Connection, Kv } from './connection.ts';
import type { Database, Transaction } from './database.ts';
import { liveSessions } from './load-view.ts';
import { fromJson, type StoredSession, toSession } from './records.ts';
import { adoptCluster, extend, isSameCluster } from './recover.ts';
import { markEnded } from './sessions.ts';

interface Reclaimed {
  readonly expired: readonly SessionId[];
  readonly paused: number;
  /** The longest remaining time until the expiry of all of them is proved. */
  readonly uncertainForMs: number;
}

/** These numbers certainly fit into one transaction. */
const EXPIRED_AT_ONCE = 15;
const HELD_AT_ONCE = 40;

/** Expires the overdue sessions among `candidates`, unless the breaker holds them back (E-8). */
export async function reclaim(
  database: Database,
  candidates: readonly SessionId[],
): Promise<Reclaimed> {
  await adoptCluster(database);
  const expired: SessionId[] = [];
  const paused = await holdBack(database);
  let uncertainForMs = 0;
  for (let from = 0; from < candidates.length; from += EXPIRED_AT_ONCE) {
    const ids = candidates.slice(from, from + EXPIRED_AT_ONCE);
    const { result } = await database.write((tx) => expire(database, tx, ids), 'etcd');
    expired.push(...result.expired);
    uncertainForMs = Math.max(uncertainForMs, result.uncertainForMs);
  }
  return { expired, paused, uncertainForMs };
}

async function expire(
  database: Database,
  tx: Transaction,
  ids: readonly SessionId[],
): Promise<Omit<Reclaimed, 'paused'>> {
  const { keys } = tx;
  // Only one reclaim runs at a time, so that the breaker counts what the previous one did.
  await tx.load([keys.reclaim, ...ids.flatMap((id) => [keys.live(id), keys.pulse(id)])]);
  // After an outage, all sessions get more time first (E-6), even if it ended only a moment ago.
  if (!(await isSameCluster(tx))) return { expired: [], uncertainForMs: 0 };
  const held = await sessionsToHold(database, tx);
  const { now } = tx;
  const expired: SessionId[] = [];
  let uncertainForMs = 0;
  for (const id of ids) {
    const kv = tx.get(keys.live(id));
    const session = kv === undefined ? undefined : toSession(kv);
    // A list of overdue sessions is no evidence (E-2).
    if (kv === undefined || session === undefined || session.expiresAt > now) continue;
    if (held.until > now && held.ids.includes(id)) continue;
    const isGivenUp = tx.get(keys.pulse(id)) === undefined;
    const uncertainMs = isGivenUp ? 0 : uncertainLeftMs(database.connection, kv, session);
    uncertainForMs = Math.max(uncertainForMs, uncertainMs);
    if (uncertainMs > 0) continue;
    await markEnded(tx, session, { at: now, exit: 'expired' });
    tx.put(keys.reclaim, tx.get(keys.reclaim)?.value ?? JSON.stringify(NO_HOLD));
    expired.push(id);
  }
  return { expired, uncertainForMs };
}

/**
 * Store time shows that the session is overdue, but store time comes from clients. Before a
 * successor may enter, one clock must have measured all of the session's time. It can be etcd's
 * clock, which has then deleted the pulse, or this process's clock, since it learned of the
 * session's current state.
 */
function uncertainLeftMs(connection: Connection, kv: Kv, session: StoredSession): number {
  const { tick } = connection.clock;
  const since = connection.log.knownSince(kv.modRevision) ?? tick;
  return Math.max(0, Math.ceil(session.expiresAt - session.setAt - (tick - since)));
}

/**
 * The last decision of the breaker. It applies to all sessions that it covered, however many there
 * are.
 */
interface Hold {
  readonly at: number;
  readonly until: number;
}

const NO_HOLD: Hold = { at: 0, until: 0 };

/** Extends the sessions that the breaker holds back, and returns their number. */
async function holdBack(database: Database): Promise<number> {
  let paused = 0;
  for (;;) {
    const { result } = await database.write(async (tx) => {
      await tx.load([tx.keys.reclaim]);
      const held = await sessionsToHold(database, tx);
      if (held.ids.length === 0) return { extended: 0, more: false };
      if (held.isNew) {
        const { now } = tx;
        tx.put(tx.keys.reclaim, JSON.stringify({ at: now, until: held.until }));
        tx.append({ kind: 'alarm', at: now, alarm: 'mass-expiry', cause: held.cause });
      }
      const some = held.ids.slice(0, HELD_AT_ONCE);
      const extended = await extend(tx, some, () => held.until as Instant);
      return { extended, more: held.ids.length > some.length };
    }, 'etcd');
    paused += result.extended;
    if (!result.more) return paused;
  }
}

async function sessionsToHold(database: Database, tx: Transaction) {
  const { keys } = tx;
  const live = await liveSessions(tx);
  const { now } = tx;
  const fresh = live.filter((session) => session.expiresAt <= now && !session.extended);
  const kv = tx.get(keys.reclaim);
  const hold = kv === undefined ? NO_HOLD : fromJson<Hold>(kv);
  // Sessions of an earlier decision that its process did not reach.
  const left = hold.until > now ? fresh.filter(({ expiresAt }) => expiresAt <= hold.at) : [];
  if (left.length > 0) {
    return { ids: left.map(({ id }) => id), until: hold.until, isNew: false, cause: '' };
  }
  const expiredInWindow = await countExpired(tx, now - database.policy.breakerWindowMs);
  const census: Census = { live: live.length, overdueFresh: fresh.length, expiredInWindow };
  const decision = decideReclaim(census, database.policy, now);
  const isHeld = decision.kind === 'hold';
  return {
    ids: isHeld ? fresh.map(({ id }) => id) : [],
    until: isHeld ? decision.until : 0,
    isNew: true,
    cause: `${fresh.length} of ${live.length} sessions`,
  };
}

async function countExpired(tx: Transaction, after: number): Promise<number> {
  const { keys } = tx;
  const from = keys.gone(Math.max(0, after + 1), '' as SessionId);
  const { kvs } = await tx.list(keys.allGone, { from });
  return kvs.filter(({ value }) => value.toString() === 'expired').length;
}
