// Hints that a key may have become free. In this process they are direct; to others they go by a key
// that all of them watch, after the transaction and only when somebody waits. That a session has ended,
// or etcd has given it up, is a hint for all that it carries. A hint may be lost: whoever waits polls too.

import type { LeaseKey, SessionId } from '../../lease/names.ts';
import { type Connection, toNumber } from './connection.ts';
import { TXN } from './messages.ts';
import { toTicket } from './records.ts';
import type { Transaction } from './transaction.ts';

export class Hints {
  readonly #connection: Connection;
  readonly #listeners: Set<(key: LeaseKey) => void> = new Set();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** After a commit that ended a term somebody waits for. Never fails the caller. */
  async ring(key: LeaseKey): Promise<void> {
    this.call(key);
    const { client, keys } = this.#connection;
    const put = { key: Buffer.from(keys.hint(key)), value: Buffer.from(key) };
    await client
      .write(TXN, { compare: [], success: [{ put }], failure: [] })
      .catch(() => undefined);
  }

  /** Somebody has rung, here or elsewhere. */
  call(key: LeaseKey): void {
    for (const listener of this.#listeners) {
      try {
        listener(key);
      } catch {
        // A hint is a courtesy: a listener's failure is not the failure of who released the key (O-4).
      }
    }
  }

  /** The pulse of a session is gone: whatever it carries may be free soon, or is. */
  async callCarried(id: SessionId): Promise<void> {
    if (this.#listeners.size === 0) return;
    const prefix = this.#connection.keys.carriedBy(id);
    const { kvs } = await this.#connection.list(prefix, { keysOnly: true });
    for (const { key } of kvs) this.call(key.slice(prefix.length) as LeaseKey);
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

/** Something happened to a lease of this session that its holder must look at (S-2). */
export async function notify(tx: Transaction, session: SessionId): Promise<void> {
  const key = tx.keys.notices(session);
  await tx.load([key]);
  tx.put(key, String((toNumber(tx.get(key)) ?? 0) + 1));
}
