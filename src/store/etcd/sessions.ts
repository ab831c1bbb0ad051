import { isDeepStrictEqual } from 'node:util';
import { decideEnd, decideHeartbeat, decideOpen, lifeOf } from '../../lease/decide/session.ts';
import { sessionEndedEvent } from '../../lease/event.ts';
import { epochOf } from '../../lease/fence.ts';
import type {
  EndSession,
  Heartbeat,
  HeartbeatResult,
  OpenSession,
  SessionEnded,
  SessionOpened,
} from '../../lease/port.ts';
import type { SessionChain, SessionEnd, SessionRecord } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import type { Identity } from './connection.ts';
import type { Database, Transaction } from './database.ts';
import { fetchChain, fetchedChain, loadChain, loadEpoch, withNotices } from './load-view.ts';
import type { Pulses } from './pulses.ts';
import { fromSession, type StoredSession } from './records.ts';
import { adoptCluster, isSameCluster } from './recover.ts';

export async function openSession(
  database: Database,
  pulses: Pulses,
  request: OpenSession,
): Promise<SessionOpened> {
  const { policy, connection } = database;
  let lease: string | undefined;
  const { result, fetched } = await database.write(async (tx) => {
    const { keys } = tx;
    // Guess that the id is new, which is nearly always true.
    const own = [keys.live(request.id), keys.ended(request.id), keys.notices(request.id)];
    await tx.load(own, 'unchanged', true);
    const existing = await withNotices(tx, await loadChain(tx, request.id));
    const parent = await loadChain(tx, request.parent);
    const { now } = tx;
    const decision = decideOpen({ existing, parent, policy }, request, now);
    if (decision.kind === 'open') {
      const { session } = decision;
      // The native lease starts before the transaction, so it lasts at least for the ttl from the
      // sending of the transaction.
      lease ??= await pulses.grant(session.ttlMs);
      const openedIn = epochOf((await loadEpoch(tx)).origin);
      tx.put(keys.live(session.id), fromSession({ ...session, setAt: now, openedIn }));
      tx.put(keys.pulse(session.id), '', lease);
      tx.append({ kind: 'session-opened', at: now, session: session.id, owner: session.owner });
      fetchChain(tx, parent);
    }
    return { decision, existing, parent, now };
  });
  const { decision, existing, parent, now } = result;
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'replay') {
    return { kind: 'opened', replayed: true, ...lifeOf(existing, now) };
  }
  const chain = [...fetchedChain(parent, fetched, connection.keys), decision.session];
  return { kind: 'opened', replayed: false, ...lifeOf(chain, now) };
}

export async function endSession(database: Database, request: EndSession): Promise<SessionEnded> {
  const { result } = await database.write(async (tx): Promise<SessionEnded> => {
    await tx.load([tx.keys.live(request.id)]);
    const chain = await loadChain(tx, request.id);
    const decision = decideEnd(chain, request, tx.now);
    if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
    const self = chain.at(-1);
    if (decision.kind === 'end' && self !== undefined) await markEnded(tx, self, decision.end);
    return { kind: 'ended', replayed: decision.kind === 'replay' };
  });
  return result;
}

/**
 * One write ends all leases of the session and its descendants, because all writes below it are
 * conditioned on the deleted key (H-1).
 */
export async function markEnded(
  tx: Transaction,
  session: StoredSession,
  end: SessionEnd,
): Promise<void> {
  const { keys } = tx;
  const endedIn = epochOf((await loadEpoch(tx)).origin);
  const { id } = session;
  tx.delete(keys.live(id));
  tx.delete(keys.pulse(id));
  tx.put(keys.ended(id), fromSession({ ...session, end, endedIn }));
  tx.put(keys.gone(end.at, id), end.exit);
  tx.put(keys.ending(id), '');
  tx.append(sessionEndedEvent(session, end));
}

type Beat =
  | Extract<HeartbeatResult, { readonly kind: 'refused' }>
  | { readonly kind: 'adopt' }
  | {
      readonly kind: 'alive';
      readonly rejoined: boolean;
      readonly above: SessionChain;
      readonly session: SessionRecord;
      readonly now: Instant;
      readonly identity: Identity;
    };

/** A slower heartbeat does not delay the others. */
const SLOW_MS = 250;

interface Running {
  readonly startedTick: number;
  readonly done: Promise<HeartbeatResult>;
  next?: Promise<HeartbeatResult>;
}

/**
 * Heartbeats of one session write the same key, so only one of several concurrent ones could
 * succeed. Those that arrive while one is under way are merged into the next, which is sent after
 * each of them was requested.
 */
export class Heartbeats {
  readonly #database: Database;
  readonly #pulses: Pulses;
  readonly #running: Map<string, Running> = new Map();

  constructor(database: Database, pulses: Pulses) {
    this.#database = database;
    this.#pulses = pulses;
  }

  beat(request: Heartbeat): Promise<HeartbeatResult> {
    const same = JSON.stringify([request.id, request.owner, request.ttlMs]);
    const running = this.#running.get(same);
    const { tick } = this.#database.connection.clock;
    if (running === undefined || tick - running.startedTick > SLOW_MS) {
      return this.#start(same, request);
    }
    running.next ??= running.done.then(
      () => this.#start(same, request),
      () => this.#start(same, request),
    );
    return running.next;
  }

  #start(same: string, request: Heartbeat): Promise<HeartbeatResult> {
    const done = heartbeat(this.#database, this.#pulses, request).finally(() => {
      if (this.#running.get(same)?.done === done) this.#running.delete(same);
    });
    this.#running.set(same, { startedTick: this.#database.connection.clock.tick, done });
    return done;
  }
}

/** Renews the native lease, then writes one key, whatever the number of leases (S-1). */
async function heartbeat(
  database: Database,
  pulses: Pulses,
  request: Heartbeat,
): Promise<HeartbeatResult> {
  const { policy } = database;
  for (;;) {
    const { result, fetched } = await database.write(async (tx): Promise<Beat> => {
      const { keys } = tx;
      await tx.load([keys.live(request.id)]);
      const stored = await loadChain(tx, request.id);
      const chain = await withNotices(tx, stored);
      const { now } = tx;
      // Adoption gives notice (T-4) and more time to every session (E-6).
      if (!(await isSameCluster(tx))) return { kind: 'adopt' };
      const decision = decideHeartbeat(chain, request, { policy, now });
      if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
      const { session, rejoined } = decision;
      await keepPulse(tx, pulses, { session, before: chain.at(-1) });
      const openedIn = stored.at(-1)?.openedIn ?? 1;
      tx.put(keys.live(session.id), fromSession({ ...session, setAt: now, openedIn }));
      if (rejoined) {
        tx.append({ kind: 'session-rejoined', at: now, session: session.id, owner: session.owner });
      }
      const above = chain.slice(0, -1);
      fetchChain(tx, above);
      return { kind: 'alive', rejoined, above, session, now, identity: tx.identity };
    });
    // A try from the cache learns only now which cluster accepted it.
    const isElsewhere =
      result.kind === 'alive' && !isDeepStrictEqual(result.identity, database.connection.identity);
    if (isElsewhere) continue;
    if (result.kind === 'alive') {
      const { rejoined, above, session, now } = result;
      const chain = [...fetchedChain(above, fetched, database.connection.keys), session];
      return { kind: 'alive', rejoined, ...lifeOf(chain, now) };
    }
    if (result.kind === 'refused') return result;
    await adoptCluster(database);
  }
}

/**
 * Runs before the session is written. So a process that finds the native lease gone knows that all
 * of the written time has passed. The session needs a new native lease if the old one is gone,
 * which can happen after the store extended the session, or if the ttl changed.
 */
async function keepPulse(
  tx: Transaction,
  pulses: Pulses,
  beat: { readonly session: SessionRecord; readonly before: SessionRecord | undefined },
): Promise<void> {
  const { session, before } = beat;
  const key = tx.keys.pulse(session.id);
  await tx.load([key], 'same-life');
  const pulse = tx.get(key);
  const isKept = pulse !== undefined && session.ttlMs === before?.ttlMs;
  if (isKept && (await pulses.renew(pulse.lease))) return;
  tx.put(key, '', await pulses.grant(session.ttlMs));
}
