// How a client comes to a store: the keys that every store has are made by the first, the others are
// listened to, and the time is learned from them.

import { FENCE_ORIGIN } from '../../lease/fence.ts';
import type { LeaseKey, SessionId } from '../../lease/names.ts';
import { systemTimers } from '../../support/timer.ts';
import { fromIdentity } from './adopt-cluster.ts';
import type { Database } from './database.ts';
import type { Hints } from './hints.ts';
import { Timekeeper } from './timekeeper.ts';
import { Watch } from './watch.ts';

export interface Joined {
  /** The last who knows the time leaves it behind. */
  leave(): Promise<void>;
}

export async function joinStore(database: Database, hints: Hints): Promise<Joined> {
  const began = await prepare(database);
  return joinOthers(database, hints, began);
}

/** Makes the keys that every store has. True for the one client that did. */
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

/** Listens to the others, and learns the time from them. */
async function joinOthers(database: Database, hints: Hints, began: boolean): Promise<Joined> {
  const { connection } = database;
  const { client, keys } = connection;
  const timekeeper = new Timekeeper(database, systemTimers);
  const quietly = (work: Promise<void>): void => void work.catch(() => undefined);
  const watch = new Watch(client, systemTimers, {
    prefix: keys.watched,
    after: connection.log.newest,
    watcher: {
      written(kv) {
        if (kv.key === keys.clock) timekeeper.told(kv);
        else if (kv.key === keys.ask) timekeeper.asked(kv);
        else if (!kv.key.startsWith(keys.pulses)) hints.call(kv.value.toString() as LeaseKey);
      },
      deleted(key) {
        if (!key.startsWith(keys.pulses)) return;
        connection.forget([key]);
        quietly(hints.callCarried(key.slice(keys.pulses.length) as SessionId));
      },
      cutOff() {
        connection.forgetAll();
      },
      missed() {
        quietly(timekeeper.ask());
        quietly(hints.callAwaited());
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
