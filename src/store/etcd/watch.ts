// One watch over everything that clients tell each other. It goes on after the last revision it has
// heard of, at another member when the one it was at is gone. Where etcd has compacted what it missed, it
// goes on with what is left and says that something is missing.

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
  /** Something may have been missed: the watch was broken, or what it missed was compacted. */
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

  /** The store is another one, at this revision: what it missed before that is not to be had. */
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
      // The stream of a watch that etcd gave up stays open for others; we have none.
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

// Hints that a key may have become free. In this process they are direct; to others they go by a key
// that all of them watch, after the transaction and only when somebody waits. That a session has ended,
// or etcd has given it up, is a hint for all that it carries. A hint may be lost: whoever waits polls too.

export class Hints {
  readonly #connection: Connection;
  readonly #listeners: Listeners<[LeaseKey]> = new Listeners();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    return this.#listeners.listen(listener);
  }

  /** After a commit that ended a term somebody waits for. Never fails the caller. */
  async ring(key: LeaseKey): Promise<void> {
    this.call(key);
    await this.#connection.put(this.#connection.keys.hint(key), key).catch(() => undefined);
  }

  /** Somebody has rung, here or elsewhere. */
  call(key: LeaseKey): void {
    this.#listeners.call(key);
  }

  /** The pulse of a session is gone: whatever it carries may be free soon, or is. */
  async callCarried(id: SessionId): Promise<void> {
    if (this.#listeners.size === 0) return;
    const prefix = this.#connection.keys.carriedBy(id);
    for (const key of await this.#connection.names<LeaseKey>(prefix)) this.call(key);
  }

  /** Some may have been missed: everything that somebody waits for is worth asking for. */
  async callAwaited(): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { kvs } = await this.#connection.list(this.#connection.keys.allLines);
    for (const key of new Set(kvs.map((kv) => toTicket(kv).key))) this.call(key);
  }

  close(): void {
    this.#listeners.clear();
  }
}
