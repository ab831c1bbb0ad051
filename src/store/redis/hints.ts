// Hints that a key may have become free: the scripts publish them, when a session waits, and one
// connection listens. A hint may be lost: waiters poll as well.
//
// The same connection is what remembers the epoch when all keys are deleted: each client subscribes to a
// channel that is named after the epoch it knows, and the script that begins a new store asks the server
// which of these have a subscriber (T-3).

import { epochOf } from '../../lease/fence.ts';
import type { LeaseKey } from '../../lease/names.ts';
import { Listeners } from '../../support/listeners.ts';
import type { RedisClient, RedisListener } from './connect.ts';

export class Hints {
  readonly #client: RedisClient;
  readonly #channel: string;
  readonly #epochChannel: string;
  readonly #listeners: Listeners<[LeaseKey]> = new Listeners();
  #listening: RedisListener | undefined;
  #epoch = 0;
  #closed = false;

  constructor(client: RedisClient, keyOf: (name: string) => string) {
    this.#client = client;
    this.#channel = keyOf('meta:hints');
    this.#epochChannel = keyOf('meta:epoch:');
  }

  /** Resolves when the server knows that this client knows of the epoch of this fence, or cannot be told. */
  async announce(fence: number): Promise<void> {
    const epoch = epochOf(fence);
    if (this.#closed || (epoch <= this.#epoch && this.#listening !== undefined)) return;
    this.#epoch = Math.max(this.#epoch, epoch);
    if (this.#listening === undefined) await this.#open();
    else await this.#subscribeToEpoch(this.#listening).catch(() => undefined);
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    if (this.#closed) return () => undefined;
    if (this.#listening === undefined) void this.#open();
    return this.#listeners.listen(listener);
  }

  /** Whether or not it is connected yet: with a server that is away it never will be. */
  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    if (this.#listening !== undefined) drop(this.#listening);
    this.#listening = undefined;
  }

  /** A connection that is lost is opened again by the client; until it is, polling goes on. */
  async #open(): Promise<void> {
    const listening = this.#client.duplicate() as RedisListener;
    this.#listening = listening;
    listening.on('error', () => undefined);
    try {
      await listening.connect();
      await listening.subscribe(this.#channel, (message) =>
        this.#listeners.call(message as LeaseKey),
      );
      await this.#subscribeToEpoch(listening);
      if (!this.#closed) return;
    } catch {
      this.#listening = undefined;
    }
    drop(listening);
  }

  /** Nothing is ever published there. */
  async #subscribeToEpoch(listening: RedisListener): Promise<void> {
    await listening.subscribe(`${this.#epochChannel}${this.#epoch}`, () => undefined);
  }
}

/** Some kinds of clients throw when they are told twice, some answer later. */
function drop(listening: RedisListener): void {
  Promise.resolve()
    .then(() => listening.destroy())
    .catch(() => undefined);
}
