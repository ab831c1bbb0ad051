// Hints that a key may be free. The scripts publish them if a session waits, and one connection
// listens. A hint may be lost, so waiters also poll.
//
// The same connection preserves the epoch if all keys are deleted. Each client subscribes to a
// channel named after the epoch that it knows. The script that begins a new store asks the server
// which of these channels have a subscriber (T-3).

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

  /**
   * Subscribes to the channel of this fence's epoch. Resolves when the server knows it, or cannot
   * be reached.
   */
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

  /** Closes even if it is not connected yet, because an unavailable server would never connect. */
  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    if (this.#listening !== undefined) drop(this.#listening);
    this.#listening = undefined;
  }

  /** The client reopens a lost connection. Until then, waiters only poll. */
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

  /** No message is ever published on this channel. */
  async #subscribeToEpoch(listening: RedisListener): Promise<void> {
    await listening.subscribe(`${this.#epochChannel}${this.#epoch}`, () => undefined);
  }
}

/** Some clients throw if they are destroyed twice, some reject later. */
function drop(listening: RedisListener): void {
  Promise.resolve()
    .then(() => listening.destroy())
    .catch(() => undefined);
}
