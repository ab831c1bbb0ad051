// Schemas for case after case. Creating one takes a third of a second, emptying a used one a few
// milliseconds. So cases take turns on them, and on their connections.

import pg from 'pg';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres/open.ts';
import { endKeptConnections, keepConnections } from './kept-connections.ts';

/** Tables with the store's own facts. */
const KEPT = ['meta', 'migration'];

export class Schemas {
  readonly #url: string;
  readonly #prefix: string;
  readonly #admin: pg.Pool;
  readonly #free: string[] = [];
  #made = 0;

  constructor(url: string, prefix: string) {
    this.#url = url;
    this.#prefix = prefix;
    keepConnections();
    this.#admin = new pg.Pool({ connectionString: url, max: 1 });
    // The database may be dropped before the last connection to it has closed.
    this.#admin.on('error', () => undefined);
  }

  /** A store for one case; closing it returns its schema. */
  async store(options: Partial<PostgresStoreOptions> = {}): Promise<CoordinatorStore> {
    const schema = await this.take();
    const store = await openPostgresStore({ url: this.#url, schema, ...options });
    return {
      ...store,
      close: async () => {
        await store.close();
        await this.giveBack(schema);
      },
    };
  }

  /** No other case has it until it is returned. */
  async take(): Promise<string> {
    return this.#free.pop() ?? this.#make();
  }

  /** Call this after every client of it is closed. */
  async giveBack(schema: string): Promise<void> {
    await this.#admin.query(`select public.empty_${schema}()`);
    this.#free.push(schema);
  }

  async query(text: string, values: readonly unknown[] = []): Promise<void> {
    await this.#admin.query(text, [...values]);
  }

  async end(): Promise<void> {
    await this.#admin.end();
    endKeptConnections();
  }

  async #make(): Promise<string> {
    this.#made += 1;
    const schema = `${this.#prefix}_${this.#made}`;
    await (await openPostgresStore({ url: this.#url, schema, connectionsMax: 1 })).close();
    await this.#admin.query(await this.#emptying(schema));
    return schema;
  }

  /** A function, so that a connection plans its statements once. */
  async #emptying(schema: string): Promise<string> {
    const { rows } = await this.#admin.query<{ readonly table: string }>(
      'select tablename as table from pg_tables where schemaname = $1 and tablename <> all ($2)',
      [schema, KEPT],
    );
    return `
      create table public.new_${schema} as table ${schema}.meta;
      create function public.empty_${schema}() returns void language plpgsql
      -- No trigger of ours stands in the way.
      set session_replication_role = replica as $$ begin
        ${rows.map(({ table }) => `delete from ${schema}.${table};`).join('\n')}
        delete from ${schema}.meta;
        insert into ${schema}.meta table public.new_${schema};
        perform setval(schemaname || '.' || sequencename, start_value, false)
          from pg_sequences where schemaname = '${schema}';
      end $$`;
  }
}
