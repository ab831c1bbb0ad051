// The same kinds of carriers, with a coordinator on PostgreSQL: a schema for each kind, emptied after each case.

import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { Kind } from './backend.ts';

/** What the store knows of itself, and what nobody may take away. */
const KEPT = ['meta', 'migration', 'audit'];

export function onPostgres(url: string): { of(kind: Kind): Kind; end(): Promise<void> } {
  const admin = new pg.Pool({ connectionString: url, max: 1 });
  // The database may go before the last connection to it has closed.
  admin.on('error', () => undefined);
  const emptied = async (schema: string): Promise<void> => {
    const { rows } = await admin.query<{ readonly name: string }>(
      'select tablename as name from pg_tables where schemaname = $1 and tablename <> all ($2)',
      [schema, KEPT],
    );
    // Far sooner done than truncating, for as few rows.
    const all = rows.map(({ name }) => `delete from ${schema}.${name};`).join('');
    await admin.query(`set local session_replication_role = replica; ${all}`);
  };
  let kinds = 0;
  return {
    of(kind) {
      kinds += 1;
      const schema = `carried_${kinds}`;
      return {
        ...kind,
        name: `${kind.name} on PostgreSQL`,
        async store() {
          const store = await openPostgresStore({ url, schema, connectionsMax: 4 });
          return {
            ...store,
            async close() {
              await store.close();
              await emptied(schema);
            },
          };
        },
      };
    },
    end: () => admin.end(),
  };
}
