// Joins a client to a store. The first client creates the keys that every store has. Later ones
// listen to the others and learn the time from them.

import { FENCE_ORIGIN } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import type { Instant } from '../../support/clock.ts';
import { systemRandom } from '../../support/random.ts';
import { systemTimers, type Timers } from '../../support/timer.ts';
import type { Kv } from './connection.ts';
import type { Database } from './database.ts';
import { liveSessions } from './load-view.ts';
import { fromIdentity } from './recover.ts';
import { type Hints, Watch } from './watch.ts';

export interface Joined {
  /** Writes the time before leaving, so that the last client leaves it behind. */
  leave(): Promise<void>;
}

export async function joinStore(database: Database, hints: Hints): Promise<Joined> {
  const began = await prepare(database);
  return joinOthers(database, hints, began);
}

/** Creates the keys that every store has. Returns true for the one client that did. */
async function prepare(database: Database): Promise<boolean> {
  const { connection } = database;
  const { result } = await database.write(async (tx) => {
    const { keys } = tx;
    await tx.load([keys.epoch, keys.clock]);
    if (tx.get(keys.epoch) !== undefined) return false;
    tx.put(keys.epoch, JSON.stringify({ origin: FENCE_ORIGIN }));
    tx.put(keys.clock, String(connection.clock.origin));
    tx.put(keys.cluster, fromIdentity(tx.identity));
    return true;
  }, 'etcd');
  return result;
}

/** Listens to other clients, and learns the time from them. */
async function joinOthers(database: Database, hints: Hints, began: boolean): Promise<Joined> {
  const { connection } = database;
  const { client, keys } = connection;
  const timekeeper = new Timekeeper(database, systemTimers);
  const ignoringFaults = (work: Promise<void>): void => void work.catch(() => undefined);
  const watch = new Watch(client, systemTimers, {
    prefix: keys.watched,
    after: connection.log.newest,
    watcher: {
      written(kv) {
        if (kv.key === keys.clock) timekeeper.onClockWritten(kv);
        else if (kv.key === keys.ask) timekeeper.onTimeRequested(kv);
        else if (!kv.key.startsWith(keys.pulses)) hints.call(kv.value.toString() as LeaseKey);
      },
      deleted(key) {
        if (!key.startsWith(keys.pulses)) return;
        connection.forget([key]);
        ignoringFaults(hints.callCarried(key.slice(keys.pulses.length) as SessionId));
      },
      cutOff() {
        connection.forgetAll();
      },
      missed() {
        ignoringFaults(timekeeper.ask());
        ignoringFaults(hints.callAwaited());
      },
    },
  });
  connection.onGoneBack = (revision) => watch.goOnAfter(revision);
  if (began) timekeeper.began();
  else await timekeeper.ask();
  return {
    async leave() {
      await timekeeper.close();
      watch.close();
    },
  };
}

// A client that has just joined, or was cut off, sees the key of the clock but does not know how
// long ago it was written. It asks, and a client that was there all along writes the current time.
// If no client replies, none knows the time. Then time has stood still, except for what etcd itself
// can prove.

/** The longest wait for a client that knows the time. */
const ANSWER_MS_MAX = 200;
/** Several clients may know the time. This spreads their replies. */
const ANSWER_MS_SPREAD = 10;

export class Timekeeper {
  readonly #database: Database;
  readonly #timers: Timers;
  readonly #id: string = systemRandom.uuid();
  readonly #waiting: Set<() => void> = new Set();
  /** This client was connected when the key was last written, or wrote it. */
  #knows = false;
  #closed = false;

  constructor(database: Database, timers: Timers) {
    this.#database = database;
    this.#timers = timers;
  }

  /** Call this in the client that created the key. */
  began(): void {
    this.#knows = true;
  }

  /** Resolves when the time is known, or no client knows it. */
  async ask(): Promise<void> {
    const { connection } = this.#database;
    this.#knows = false;
    const written = new Promise<boolean>((resolve) => {
      const cancel = this.#timers.after(ANSWER_MS_MAX, () => resolve(false));
      this.#waiting.add(() => {
        cancel();
        resolve(true);
      });
    });
    await connection.put(connection.keys.ask, this.#id);
    const isKnown = await written;
    this.#waiting.clear();
    if (!isKnown && !this.#closed) await this.#resume();
  }

  /** The key of the clock was written just now. */
  onClockWritten(kv: Kv): void {
    this.#database.connection.learnClock(kv);
    this.#knows = true;
    for (const resolve of [...this.#waiting]) resolve();
  }

  /** Another client asks for the time. */
  onTimeRequested(by: Kv): void {
    if (!this.#knows || by.value.toString() === this.#id) return;
    const { clock } = this.#database.connection;
    const before = clock.revision;
    this.#timers.after(systemRandom.next() * ANSWER_MS_SPREAD, () => {
      if (this.#closed || clock.revision !== before) return;
      moveClock(this.#database).catch(() => undefined);
    });
  }

  /** Writes the time before leaving, so that the last client leaves it behind. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#knows) await moveClock(this.#database).catch(() => undefined);
  }

  /**
   * If etcd has ended a session's native lease, the whole time of that session has passed, by
   * etcd's clock. So store time advances at least to that expiry. Other sessions keep their
   * remaining time.
   */
  async #resume(): Promise<void> {
    await this.#database.write(async (tx) => {
      const { keys } = tx;
      const live = await liveSessions(tx);
      const beating = new Set(await tx.names<SessionId>(keys.pulses));
      const over = live.filter(({ id, extended }) => !extended && !beating.has(id));
      const at = Math.max(tx.now, ...over.map(({ expiresAt }) => expiresAt));
      tx.moveClock(at as Instant);
    }, 'etcd');
    this.#knows = true;
  }
}

/**
 * Writes the current time. The returned function gives an upper bound of store time, counted from
 * the sending.
 */
export async function moveClock(database: Database): Promise<() => Instant> {
  const { clock } = database.connection;
  const sentTick = clock.tick;
  await database.write(async (tx) => tx.moveClock());
  return () => clock.latest(sentTick);
}
