// Hints that a key may have become free: the scripts publish them, when somebody waits, and one
// connection listens. A hint may be lost: whoever waits polls as well.

import type { LeaseKey } from '../../lease/names.ts';
import type { RedisClient, RedisListener } from './connect.ts';

export class Hints {
  readonly #client: RedisClient;
  readonly #channel: string;
  readonly #listeners: Set<(key: LeaseKey) => void> = new Set();
  #listening: RedisListener | undefined;
  #closed = false;

  constructor(client: RedisClient, channel: string) {
    this.#client = client;
    this.#channel = channel;
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    if (this.#closed) return () => undefined;
    this.#listeners.add(listener);
    if (this.#listening === undefined) void this.#open();
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Whether or not it is connected yet: with a server that is away it never will be. */
  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    if (this.#listening !== undefined) drop(this.#listening);
    this.#listening = undefined;
  }

  #call(key: LeaseKey): void {
    for (const listener of this.#listeners) {
      try {
        listener(key);
      } catch {
        // A hint is a courtesy: a listener's failure is not the failure of who released the key (O-4).
      }
    }
  }

  /** A connection that is lost is opened again by the client; until it is, polling goes on. */
  async #open(): Promise<void> {
    const listening = this.#client.duplicate() as RedisListener;
    this.#listening = listening;
    listening.on('error', () => undefined);
    try {
      await listening.connect();
      await listening.subscribe(this.#channel, (message) => this.#call(message as LeaseKey));
      if (!this.#closed) return;
    } catch {
      this.#listening = undefined;
    }
    drop(listening);
  }
}

/** Some kinds of clients throw when they are told twice, some answer later. */
function drop(listening: RedisListener): void {
  Promise.resolve()
    .then(() => listening.destroy())
    .catch(() => undefined);
}
