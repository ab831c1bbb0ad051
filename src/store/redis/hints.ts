// Hints that a key may have become free: the scripts publish them, when somebody waits, and one
// connection listens. A hint may be lost: whoever waits polls as well.

import type { LeaseKey } from '../../lease/names.ts';
import type { RedisClient, RedisListener } from './connect.ts';

export class Hints {
  readonly #client: RedisClient;
  readonly #channel: string;
  readonly #listeners: Set<(key: LeaseKey) => void> = new Set();
  #listening: Promise<RedisListener | undefined> | undefined;
  #closed = false;

  constructor(client: RedisClient, channel: string) {
    this.#client = client;
    this.#channel = channel;
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    if (this.#closed) return () => undefined;
    this.#listeners.add(listener);
    this.#listening ??= this.#open();
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    const listening = await this.#listening;
    this.#listening = undefined;
    listening?.destroy();
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
  async #open(): Promise<RedisListener | undefined> {
    const listening = this.#client.duplicate() as RedisListener;
    listening.on('error', () => undefined);
    try {
      await listening.connect();
      await listening.subscribe(this.#channel, (message) => this.#call(message as LeaseKey));
      if (!this.#closed) return listening;
    } catch {
      this.#listening = undefined;
    }
    listening.destroy();
    return undefined;
  }
}
