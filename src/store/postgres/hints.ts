// Hints that a key may be free. Within this process they are direct calls. Other processes get them
// by NOTIFY, after the commit and only if a session waits: a NOTIFY inside the transaction would
// serialise commits. Hints may be lost, so waiters also poll.

import type { Client } from 'pg';
import type { LeaseKey } from '../../lease/names.ts';
import { Listeners } from '../../support/listeners.ts';
import { type Database, type Queries, quoteIdentifier, statement } from './database.ts';

const NOTIFY = statement('select pg_notify($1, $2)');

export class Hints {
  readonly #database: Database;
  readonly #channel: string;
  readonly #connect: (() => Promise<Client>) | undefined;
  readonly #listeners: Listeners<[LeaseKey]> = new Listeners();
  #listening: Promise<Client | undefined> | undefined;
  #closed = false;

  constructor(database: Database, channel: string, connect: (() => Promise<Client>) | undefined) {
    this.#database = database;
    this.#channel = channel;
    this.#connect = connect;
  }

  /** Call this after a commit that ended a term with waiters. It never fails the caller. */
  async notify(key: LeaseKey): Promise<void> {
    this.#listeners.call(key);
    await this.notifyOthers(key);
  }

  /** Notifies other processes only. It never fails the caller. */
  async notifyOthers(key: string): Promise<void> {
    // Reopens a lost connection at the next hint.
    if (this.#listeners.size > 0) this.#listening ??= this.#open();
    await this.#database.rows(NOTIFY, [this.#channel, key]).catch(() => undefined);
  }

  /** Sends no key. It is delivered after the commit, to this process too. */
  async notifyWithin(queries: Queries): Promise<void> {
    await queries.rows(NOTIFY, [this.#channel, '']);
  }

  listen(listener: (key: LeaseKey) => void): () => void {
    if (this.#closed) return () => undefined;
    this.#listening ??= this.#open();
    return this.#listeners.listen(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    const client = await this.#listening;
    this.#listening = undefined;
    await client?.end().catch(() => undefined);
  }

  /** Without its own connection, this process gets no hints from others and only polls. */
  async #open(): Promise<Client | undefined> {
    if (this.#connect === undefined) return undefined;
    try {
      const client = await this.#connect();
      client.on('notification', (message) => {
        if (message.channel === this.#channel)
          this.#listeners.call((message.payload ?? '') as LeaseKey);
      });
      client.on('error', () => {
        this.#listening = undefined;
      });
      await client.query(`listen ${quoteIdentifier(this.#channel)}`);
      if (!this.#closed) return client;
      await client.end();
      return undefined;
    } catch {
      this.#listening = undefined;
      return undefined;
    }
  }
}
