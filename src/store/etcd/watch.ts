// One watch over all messages between clients. It resumes after the last revision that it saw, at
// another member if necessary. If etcd has compacted what it missed, it continues with the rest and
// reports the gap.

import type { LeaseKey, SessionId } from '../../lease/names.ts';
import { Listeners } from '../../support/listeners.ts';
import type { Timers } from '../../support/timer.ts';
import type { EtcdClient, EtcdStream } from './client.ts';
import { type Connection, type Kv, toKv } from './connection.ts';
import { afterPrefix } from './keys.ts';
import { WATCH, type WatchRequest, type WatchResponse } from './messages.ts';
import { toTicket } from './records.ts';

export interface Watcher {
  written(kv: Kv): void;
  deleted(key: string): void;
  /** The connection to the member was lost. */
  cutOff(): void;
  /** Events may be missing: the watch was broken, or etcd compacted them. */
  missed(): void;
}

const AGAIN_MS = 50;

export class Watch {
  readonly #client: EtcdClient;
  readonly #timers: Timers;
  readonly #prefix: string;
  readonly #watcher: Watcher;
  #next: number;
  #stream: EtcdStream<WatchRequest> | undefined;
  #cancelRestart: () => void = () => undefined;
  #isBroken = false;
  #closed = false;

  constructor(
    client: EtcdClient,
    timers: Timers,
    watched: { readonly prefix: string; readonly after: number; readonly watcher: Watcher },
  ) {
    this.#client = client;
    this.#timers = timers;
    this.#prefix = watched.prefix;
    this.#watcher = watched.watcher;
    this.#next = watched.after + 1;
    this.#start();
  }

  /** The store is another one, at this revision. Earlier events are not available. */
  goOnAfter(revision: number): void {
    this.#next = revision + 1;
    this.#isBroken = true;
    this.#stream?.cancel();
  }

  close(): void {
    this.#closed = true;
    this.#cancelRestart();
    this.#stream?.cancel();
  }

  #start(): void {
    const stream = this.#client.stream(WATCH, {
      message: (response) => this.#take(response, stream),
      ended: () => this.#restart(),
    });
    this.#stream = stream;
    stream.send({
      create: {
        key: Buffer.from(this.#prefix),
        rangeEnd: afterPrefix(this.#prefix),
        startRevision: this.#next,
      },
    });
  }

  #restart(): void {
    if (this.#closed) return;
    this.#isBroken = true;
    this.#watcher.cutOff();
    this.#cancelRestart = this.#timers.after(AGAIN_MS, () => this.#start());
  }

  #take(response: WatchResponse, stream: EtcdStream<WatchRequest>): void {
    if (this.#closed) return;
    if (response.canceled) {
      // etcd keeps the stream of a cancelled watch open for other watches, but this stream has
      // none.
      if (response.compactRevision > 0) this.#next = response.compactRevision;
      this.#isBroken = true;
      stream.cancel();
      return;
    }
    for (const { type, kv } of response.events) {
      if (kv === undefined) continue;
      this.#next = Math.max(this.#next, kv.modRevision + 1);
      if (type === 0) this.#watcher.written(toKv(kv));
      else this.#watcher.deleted(kv.key.toString());
    }
    if (!this.#isBroken) return;
    this.#isBroken = false;
    this.#watcher.missed();
  }
}

// Hints that a key may be free. Within this process they are direct calls. Other clients get them
// through a key that they watch, after the transaction and only if a session waits. The end of a
// session, or of its native lease, is a hint for all keys that it carries. A hint may be lost, so
// waiters also poll.

export class Hints {
  readonly #connection: Connection;
  readonly #listeners: Listeners<[LeaseKey]> = new Listeners();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    return this.#listeners.listen(listener);
  }

  /** Call this after a commit that ended a term with waiters. It never fails the caller. */
  async notify(key: LeaseKey): Promise<void> {
    this.call(key);
    await this.#connection.put(this.#connection.keys.hint(key), key).catch(() => undefined);
  }

  /** Calls the listeners of this process. */
  call(key: LeaseKey): void {
    this.#listeners.call(key);
  }

  /** The pulse of a session is gone, so its keys are free or may soon be. */
  async callCarried(id: SessionId): Promise<void> {
    if (this.#listeners.size === 0) return;
    const prefix = this.#connection.keys.carriedBy(id);
    for (const key of await this.#connection.names<LeaseKey>(prefix)) this.call(key);
  }

  /** Hints may be missing, so wake the waiters of all keys. */
  async callAwaited(): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { kvs } = await this.#connection.list(this.#connection.keys.allQueues);
    for (const key of new Set(kvs.map((kv) => toTicket(kv).key))) this.call(key);
  }

  close(): void {
    this.#listeners.clear();
  }
}
