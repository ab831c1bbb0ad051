// One watch over everything that clients tell each other. It goes on after the last revision it has
// heard of, at another member when the one it was at is gone. Where etcd has compacted what it missed, it
// goes on with what is left and says that something is missing.

import type { Timers } from '../../support/timer.ts';
import type { EtcdClient, Stream } from './client.ts';
import { type Kv, toKv } from './connection.ts';
import { afterPrefix } from './keys.ts';
import { WATCH, type WatchRequest, type WatchResponse } from './messages.ts';

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
  #stream: Stream<WatchRequest> | undefined;
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

  #take(response: WatchResponse, stream: Stream<WatchRequest>): void {
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
